#include "cluster/local/nodeagent/agent_private.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/process_usage.h"

#include <malloc.h>
#include <spdlog/spdlog.h>

// What the agent hears of nodes and pods, and what it looks at from time to time.
namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;
namespace asio = boost::asio;

namespace {

void pruneNode(json &node)
{
    json kept{{"metadata",
               {{"name", textOf(fieldOf(node, "metadata"), "name")},
                {"uid", fieldOf(fieldOf(node, "metadata"), "uid")},
                {"resourceVersion", fieldOf(fieldOf(node, "metadata"), "resourceVersion")},
                {"labels", fieldOf(fieldOf(node, "metadata"), "labels")}}}};
    for (const char *name : {"addresses", "capacity", "allocatable"})
        kept["status"][name] = fieldOf(fieldOf(node, "status"), name);
    node = std::move(kept);
}

} // namespace

void NodeAgent::Private::watchNodes()
{
    Informer::Handlers handlers;
    handlers.onEvent = onIo([](Private &self, const InformerEvent &event) { self.onNode(event); });
    handlers.onSynced = onIo([](Private &self) { self.watchPods(); });
    handlers.onError = [](const Error &error) { spdlog::debug("watching nodes: {}", error.message); };
    InformerOptions watching;
    watching.prune = pruneNode;
    nodeInformer
        = std::make_unique<Informer>(client, coreV1("nodes"), std::move(handlers), std::move(watching));
}

void NodeAgent::Private::watchPods()
{
    if (isStopping || podInformer)
        return;
    Informer::Handlers handlers;
    handlers.onEvent = onIo([](Private &self, const InformerEvent &event) { self.onPod(event); });
    handlers.onSynced = onIo([](Private &self) { self.onPodsSynced(); });
    handlers.onError = [](const Error &error) { spdlog::debug("watching pods: {}", error.message); };
    InformerOptions watching;
    watching.fieldSelector = "spec.nodeName!=";
    watching.prune = [table = *images](json &pod) {
        // Only looked at: the object stays its owner's.
        const std::shared_ptr<const json> view(&pod, [](const json *) {});
        // With thousands of pods it counts that those that ask for it are known without reading all of them.
        const json &annotations = fieldOf(fieldOf(pod, "metadata"), "annotations");
        if (textOf(annotations, "slipway.dev/runtime") == "simulated" || table.isSimulated(parsePod(view)))
            pruneSimulatedPod(pod);
    };
    podInformer
        = std::make_unique<Informer>(client, coreV1("pods"), std::move(handlers), std::move(watching));
}

void NodeAgent::Private::onNode(const InformerEvent &event)
{
    const json &metadata = fieldOf(*event.object, "metadata");
    const std::string name = textOf(metadata, "name");
    // A node that another simulated kubelet plays.
    if (textOf(fieldOf(metadata, "labels"), "slipway.dev/agent") == "none")
        return;
    if (event.type != InformerEventType::Deleted) {
        const bool isNew = nodes.find(name) == nodes.end();
        nodes[name] = event.object;
        if (!isNew)
            return;
        for (auto pod = homeless.begin(); pod != homeless.end();) {
            const bool isHome = textOf(fieldOf(*pod->second, "spec"), "nodeName") == name;
            const KubeObject object = pod->second;
            pod = isHome ? homeless.erase(pod) : std::next(pod);
            if (isHome)
                add(object);
        }
        return;
    }
    nodes.erase(name);
    const PodRunners known = pods; // the map changes meanwhile
    for (const auto &[uid, pod] : known) {
        if (pod->spec().node == name)
            pod->killSilently();
    }
}

void NodeAgent::Private::onPod(const InformerEvent &event)
{
    const json &metadata = fieldOf(*event.object, "metadata");
    const std::string uid = textOf(metadata, "uid");
    if (isStopping || !isSafeName(uid))
        return;
    const auto found = pods.find(uid);
    if (event.type == InformerEventType::Deleted) {
        homeless.erase(uid);
        if (found != pods.end())
            std::shared_ptr<PodRunner>(found->second)->onDeleted();
        return;
    }
    if (found != pods.end()) {
        std::shared_ptr<PodRunner>(found->second)->update(parsePod(event.object), knowsAllPods);
        return;
    }
    add(event.object);
}

void NodeAgent::Private::add(const KubeObject &object)
{
    PodSpec pod = parsePod(object);
    if (lostNodes.contains(pod.node))
        return;
    if (!nodes.contains(pod.node)) {
        homeless[pod.uid] = object;
        return;
    }
    const bool isSimulated = images->isSimulated(pod);
    const std::string uid = pod.uid;
    auto runner = std::make_shared<PodRunner>(*context, std::move(pod), isSimulated);
    pods[uid] = runner;
    if (shutdowns.contains(runner->spec().node))
        runner->reject("NodeShutdown", "Pod was rejected as the node is shutting down.");
    if (knowsAllPods)
        runner->sync();
}

void NodeAgent::Private::onPodsSynced()
{
    knowsAllPods = hasJustListed = true;
    const PodRunners known = pods; // the map may change meanwhile
    for (const auto &[uid, pod] : known)
        pod->sync();
    sweepFolders();
    sweepClaims();
}

void NodeAgent::Private::onGone(const std::string &uid)
{
    const auto found = pods.find(uid);
    if (found == pods.end())
        return;
    // Not at once: it is the pod itself that says so.
    asio::post(io, [kept = found->second] {});
    if (!isStopping) // else they go on with the next agent
        releaseDevices(*found->second);
    pods.erase(found);
    if (isStopping)
        checkStopped();
}

void NodeAgent::Private::sweepFolders()
{
    std::error_code error;
    for (const fs::directory_entry &entry : fs::directory_iterator(options.folder / "pods", error)) {
        const std::string uid = entry.path().filename().string();
        if (!pods.contains(uid) && !homeless.contains(uid))
            fs::remove_all(entry.path(), error);
    }
}

/// Of a pod that went without ado: deleted by force, or with its node.
void NodeAgent::Private::releaseDevices(const PodRunner &pod)
{
    if (!hasDeviceClaims(pod.spec()))
        return;
    work->run([&held = *claims, uid = pod.spec().uid]() -> std::function<void()> {
        if (const Status done = held.unprepare(uid); !done)
            spdlog::warn("unpreparing devices: {}", done.error().message);
        return nullptr;
    });
}

/// What agents before this one prepared for pods that have ended since.
void NodeAgent::Private::sweepClaims()
{
    std::set<std::string> known;
    for (const auto &[uid, pod] : pods) {
        if (!pod->record().isTornDown)
            known.insert(uid);
    }
    for (const auto &[uid, object] : homeless)
        known.insert(uid);
    work->run([&held = *claims, known = std::move(known)]() -> std::function<void()> {
        if (const Status done = held.keepOnly(known); !done)
            spdlog::warn("unpreparing devices: {}", done.error().message);
        return nullptr;
    });
}

/// Every second: names, and memory limits, which are kept by looking (cgroups can't be had everywhere).
void NodeAgent::Private::watchContainers()
{
    containerTimer.expires_after(std::chrono::seconds(1));
    containerTimer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (error || !self)
            return;
        if (std::exchange(self->hasJustListed, false))
            ::malloc_trim(0); // the first list was many times what is kept of it
        std::optional<ProcessTable> table;
        for (const auto &[uid, pod] : self->pods) {
            if (pod->hasProcesses())
                pod->updateHosts();
            for (std::size_t i = 0; pod->hasProcesses() && i < pod->spec().containers.size(); ++i) {
                const auto limit = static_cast<std::uint64_t>(pod->spec().containers[i].memoryLimit);
                ContainerRunner *runner = pod->runner(i);
                if (limit == 0 || self->cgroups || runner == nullptr || !runner->isRunning())
                    continue;
                if (!table)
                    table = ProcessTable::read();
                if (table->usageOf(runner->pid()).anonymousBytes <= limit)
                    continue;
                runner->noteOutOfMemory();
                runner->kill();
            }
        }
        self->watchContainers();
    });
}

} // namespace cluster::local
