#include "cluster/local/nodes/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace cluster::local {

Status inParallel(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)> &work)
{
    std::atomic<std::size_t> next = 0;
    std::mutex mutex; // guards failure
    std::optional<Error> failure;
    const auto run = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            const Status status = work(i);
            if (status)
                continue;
            next = count;
            const std::lock_guard lock(mutex);
            if (!failure)
                failure = status.error();
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (std::size_t i = 1; i < std::min(threads, count); ++i)
            helpers.emplace_back(run);
        run();
    }
    if (failure)
        return tl::unexpected(*failure);
    return {};
}

} // namespace cluster::local
