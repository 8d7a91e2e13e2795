#pragma once

#include "cluster/base/cancellation.h"

#include <mutex>
#include <thread>

namespace slipwayctl {

/// SIGINT and SIGTERM as cancellation. The first one cancels what is going on; a second one, before the next
/// begin(), ends the process. One object a process.
class Interrupts
{
public:
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts &) = delete;
    Interrupts &operator=(const Interrupts &) = delete;

    /// A new piece of work: its token, not cancelled yet (unless SIGTERM has come).
    cluster::CancelToken begin();
    /// Something was interrupted since the last begin().
    [[nodiscard]] bool happened() const;
    /// SIGTERM: the process is to end.
    [[nodiscard]] bool mustEnd() const;

private:
    void watch();

    mutable std::mutex m_mutex; ///< guards m_source
    cluster::CancelSource m_source;
    std::thread m_watcher; ///< turns what the signal handler wrote into calls that a handler may not make
};

} // namespace slipwayctl
