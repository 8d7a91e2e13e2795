#pragma once

#include "cluster/base/cancellation.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cluster::local {

/// A thread that does for one cluster what nobody waits for: wakes it when a client comes, starts Ray's
/// operator when it is first needed, and looks whether it may go to sleep.
class ClusterKeeper
{
public:
    struct Duties
    {
        std::function<bool(const CancelToken &cancel)> wake; ///< false: it failed; asked again later
        std::function<void(const CancelToken &cancel)> startRay;
        std::function<void(const CancelToken &cancel)> sleepIfIdle; ///< called every `idleCheck`
        std::chrono::milliseconds idleCheck{0}; ///< zero: never
    };

    explicit ClusterKeeper(Duties duties);
    ~ClusterKeeper(); ///< end()
    ClusterKeeper(const ClusterKeeper &) = delete;
    ClusterKeeper &operator=(const ClusterKeeper &) = delete;

    void end(); ///< Cancels what is being done and waits for that; nothing is done any more.

    // From any thread; they return at once.
    void askToWake();
    void askForRay();

private:
    void run(const CancelToken &cancel);

    const Duties m_duties;
    std::mutex m_mutex; ///< guards the next two
    bool m_isWanted = false;
    bool m_wantsRay = false;
    std::condition_variable_any m_asked;
    std::jthread m_thread; ///< last: it uses the others
};

} // namespace cluster::local
