#include "cluster/local/nodes/background_tasks.h"

namespace cluster::local {

void BackgroundTasks::start(Task task)
{
    const std::lock_guard lock(m_mutex);
    if (m_cancel.stop_requested())
        return;
    m_running.remove_if([](const std::unique_ptr<Running> &running) { return running->isOver.load(); });
    auto running = std::make_unique<Running>();
    running->thread
        = std::jthread([task = std::move(task), cancel = m_cancel.get_token(), isOver = &running->isOver] {
              task(cancel);
              *isOver = true;
          });
    m_running.push_back(std::move(running));
}

void BackgroundTasks::stop()
{
    m_cancel.request_stop();
    std::list<std::unique_ptr<Running>> running;
    {
        const std::lock_guard lock(m_mutex);
        running.swap(m_running);
    }
    running.clear(); // joins
}

} // namespace cluster::local
