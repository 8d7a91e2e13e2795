#pragma once

#include "cluster/kube/informer.h"
#include "cluster/local/nodeagent/agent_access.h"
#include "cluster/local/nodeagent/agent_context.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace cluster::local {

class NodeAgent::Private : public std::enable_shared_from_this<NodeAgent::Private>
{
public:
    Private(boost::asio::io_context &context, KubeClient &kube, NodeAgentOptions given)
        : io(context), client(kube), options(std::move(given)), access(pods), containerTimer(io)
    {
    }

    Status start();
    Status lockFolder();
    void endLeftovers();
    void findCgroups();
    void watchNodes();
    void watchPods();
    void onNode(const InformerEvent &event);
    void onPod(const InformerEvent &event);
    void add(const KubeObject &object);
    void onGone(const std::string &uid);
    void onPodsSynced();
    void sweepFolders();
    void sweepClaims();
    void releaseDevices(const PodRunner &pod);
    void watchContainers();
    void shutDownNode(const std::string &node, std::chrono::seconds grace);
    void endNextGroup(const std::string &node);
    void awaitGroup(const std::string &node);
    void stop(std::chrono::milliseconds patience, std::function<void()> done);
    void checkStopped();
    template<typename Handler>
    auto onIo(Handler handler);

    boost::asio::io_context &io;
    KubeClient &client;
    NodeAgentOptions options;
    int lock = -1;
    std::optional<ImageTable> images;
    std::optional<CgroupTree> cgroups;
    std::optional<PodAddresses> addresses;
    std::map<std::string, std::shared_ptr<const nlohmann::json>> nodes;
    std::set<std::string> lostNodes;
    std::map<std::string, KubeObject> homeless; ///< pods of nodes that aren't known (yet), by uid
    struct Shutdown; ///< of a node, under way or over
    std::map<std::string, std::shared_ptr<Shutdown>> shutdowns;
    PodRunners pods;
    AgentAccess access;
    boost::asio::steady_timer containerTimer;
    std::function<void()> stopped;
    bool isStopping = false;
    bool hasJustListed = false;
    bool knowsAllPods = false; ///< and so which addresses are in use
    std::unique_ptr<PodWriter> writer;
    std::unique_ptr<EventSink> events;
    std::unique_ptr<DeviceClaims> claims;
    std::unique_ptr<AgentContext> context;
    // Last, so that their threads end first.
    std::unique_ptr<WorkPool> writes, work, probes;
    std::unique_ptr<Informer> nodeInformer, podInformer;
};

/// Has the handler called on the io_context, if the agent is still there then.
template<typename Handler>
auto NodeAgent::Private::onIo(Handler handler)
{
    return [weak = weak_from_this(), &context = io, handler](auto &&...values) {
        boost::asio::post(context, [weak, handler, values...] {
            if (const auto self = weak.lock())
                handler(*self, values...);
        });
    };
}

} // namespace cluster::local
