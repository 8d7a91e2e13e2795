#pragma once

#include "cluster/base/cancellation.h"

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace cluster::local {

/// Tasks that take their time (a repair after a fault), each on a thread of its own; few at a time.
class BackgroundTasks
{
public:
    using Task = std::function<void(const CancelToken &cancel)>;

    ~BackgroundTasks() { stop(); }

    /// Nothing after stop().
    void start(Task task);
    /// Asks all to end and waits for them.
    void stop();

private:
    struct Running
    {
        std::atomic<bool> isOver = false;
        std::jthread thread; ///< last: it uses the flag
    };

    CancelSource m_cancel;
    std::mutex m_mutex; ///< guards m_running
    std::list<std::unique_ptr<Running>> m_running;
};

} // namespace cluster::local
