#include "cluster/kube/pause.h"

#include <condition_variable>
#include <mutex>
#include <random>

namespace cluster {

bool pauseFor(std::chrono::milliseconds wait, const CancelToken &cancel, Deadline deadline)
{
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    const auto limit = std::min<Deadline::Clock::duration>(wait, deadline.remaining());
    never.wait_for(lock, cancel, limit, [] { return false; });
    return !cancel.stop_requested();
}

std::chrono::milliseconds jittered(std::chrono::milliseconds wait)
{
    thread_local std::minstd_rand random{std::random_device{}()};
    const auto half = wait.count() / 2;
    return std::chrono::milliseconds(std::uniform_int_distribution<std::chrono::milliseconds::rep>(
        wait.count() - half, wait.count() + half)(random));
}

} // namespace cluster
