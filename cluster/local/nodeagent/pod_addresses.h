#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <set>
#include <string>

namespace cluster::local {

/// Pod IPs of one range, each given once until it is given back; a freed one is used again as late as
/// possible.
class PodAddresses
{
public:
    /// \param cidr  "10.16.0.0/13"; InvalidArgument otherwise.
    static Result<PodAddresses> inRange(const std::string &cidr);

    /// ResourceExhausted when all are taken.
    Result<std::string> take();
    /// Of a pod that has it already. False: it is taken or not of the range.
    bool claim(const std::string &address);
    void giveBack(const std::string &address);

private:
    std::uint32_t m_first = 0, m_last = 0, m_next = 0;
    std::set<std::uint32_t> m_taken;
};

} // namespace cluster::local
