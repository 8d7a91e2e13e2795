#include "cluster/local/nodeagent/agent_private.h"

#include <algorithm>

// Graceful node shutdown.
namespace cluster::local {

namespace {

/// At most, for critical pods, of the time that a node has: GKE's split of 30 seconds.
constexpr std::chrono::seconds criticalPeriod{15};
constexpr std::chrono::milliseconds lookEvery{100};
constexpr const char *shutdownMessage = "Pod was terminated in response to imminent node shutdown.";

} // namespace

struct NodeAgent::Private::Shutdown
{
    explicit Shutdown(boost::asio::io_context &io) : timer(io) {}

    struct Group
    {
        std::vector<std::weak_ptr<PodRunner>> pods;
        std::chrono::seconds period{0};
    };
    std::vector<Group> waiting; ///< the next one last
    Group current;
    std::chrono::steady_clock::time_point end; ///< of the current one's period
    boost::asio::steady_timer timer;
};

void NodeAgent::Private::shutDownNode(const std::string &node, std::chrono::seconds grace)
{
    if (isStopping || shutdowns.contains(node))
        return;
    const auto shutdown = std::make_shared<Shutdown>(io);
    shutdowns[node] = shutdown;
    Shutdown::Group critical, ordinary;
    critical.period = std::min(criticalPeriod, grace / 2);
    ordinary.period = grace - critical.period;
    for (const auto &[uid, pod] : pods) {
        if (pod->spec().node == node)
            (pod->spec().priority >= criticalPriority ? critical : ordinary).pods.push_back(pod);
    }
    shutdown->waiting = {std::move(critical), std::move(ordinary)};
    endNextGroup(node);
}

void NodeAgent::Private::endNextGroup(const std::string &node)
{
    const auto found = shutdowns.find(node);
    if (found == shutdowns.end() || found->second->waiting.empty())
        return;
    const std::shared_ptr<Shutdown> shutdown = found->second;
    shutdown->current = std::move(shutdown->waiting.back());
    shutdown->waiting.pop_back();
    const std::chrono::seconds period = shutdown->current.period;
    shutdown->end
        = std::chrono::steady_clock::now() + context->scaled(std::chrono::duration<double>(period).count());
    for (const auto &member : shutdown->current.pods) {
        if (const auto pod = member.lock())
            pod->endFor({"Terminated", shutdownMessage, period.count(), true});
    }
    awaitGroup(node);
}

/// Until the group has ended or its time is over; a group without pods takes none.
void NodeAgent::Private::awaitGroup(const std::string &node)
{
    const auto found = shutdowns.find(node);
    if (found == shutdowns.end())
        return;
    Shutdown &shutdown = *found->second;
    const bool hasEnded
        = std::all_of(shutdown.current.pods.begin(), shutdown.current.pods.end(), [](const auto &member) {
              const auto pod = member.lock();
              return !pod || pod->record().isTornDown;
          });
    if (hasEnded || std::chrono::steady_clock::now() >= shutdown.end) {
        endNextGroup(node);
        return;
    }
    shutdown.timer.expires_after(lookEvery);
    shutdown.timer.async_wait([weak = weak_from_this(), node](boost::system::error_code error) {
        const auto self = weak.lock();
        if (!error && self)
            self->awaitGroup(node);
    });
}

} // namespace cluster::local
