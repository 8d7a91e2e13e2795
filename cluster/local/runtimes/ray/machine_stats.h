#pragma once

#include "cluster/local/runtimes/ray/ray_values.h"

namespace cluster::local {

/// Reads this machine's and this process's use from /proc. What can't be read is 0.
class MachineStats
{
public:
    /// CPU use is that since the call before.
    RayNodeStats read();

private:
    std::uint64_t m_busy = 0, m_all = 0; ///< clock ticks of all processors
};

} // namespace cluster::local
