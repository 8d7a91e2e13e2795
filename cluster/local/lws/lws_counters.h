#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace cluster::local {

/// What the metrics page tells. Any thread may count.
struct LwsCounters
{
    struct Controller
    {
        std::atomic<std::uint64_t> succeeded = 0, failed = 0, requeued = 0; ///< passes
        std::atomic<std::uint64_t> queued = 0; ///< keys that wait, when a pass ended last
    };
    Controller sets, pods;
    std::atomic<std::uint64_t> admitted = 0, refused = 0, unread = 0; ///< answers of the webhooks
    std::atomic<bool> isLeading = false;
};

/// Prometheus' text format 0.0.4, with the names of controller-runtime.
[[nodiscard]] std::string metricsPage(const LwsCounters &counters);

} // namespace cluster::local
