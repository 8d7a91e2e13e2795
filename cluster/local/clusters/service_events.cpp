#include "cluster/local/clusters/service_events.h"

#include "cluster/local/nodes/event_writer.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace cluster::local {

struct ServiceEvents::Private
{
    explicit Private(KubeClient &client)
        : writer(client), thread([this](const CancelToken &cancel) { run(cancel); })
    {
    }

    void run(const CancelToken &cancel);

    EventWriter writer;
    std::mutex mutex; ///< guards waiting
    std::deque<ServiceProblem> waiting;
    std::condition_variable_any came;
    std::jthread thread; ///< last: it uses the others
};

void ServiceEvents::Private::run(const CancelToken &cancel)
{
    while (true) {
        std::unique_lock lock(mutex);
        if (!came.wait(lock, cancel, [this] { return !waiting.empty(); }))
            return;
        const ServiceProblem problem = std::move(waiting.front());
        waiting.pop_front();
        lock.unlock();
        EventText event;
        event.kind = "Service";
        event.space = problem.nameSpace;
        event.name = problem.name;
        event.uid = problem.uid;
        event.isWarning = true;
        event.reason = "PortNotForwarded";
        event.message = problem.text;
        event.component = "slipway-service-proxy";
        writer.write(event, cancel);
    }
}

ServiceEvents::ServiceEvents(KubeClient &client) : d(std::make_unique<Private>(client)) {}

ServiceEvents::~ServiceEvents() = default;

void ServiceEvents::tell(const ServiceProblem &problem)
{
    constexpr std::size_t most = 256;
    const std::scoped_lock lock(d->mutex);
    if (problem.uid.empty() || d->waiting.size() >= most)
        return; // without an id it is no object of the API
    d->waiting.push_back(problem);
    d->came.notify_one();
}

} // namespace cluster::local
