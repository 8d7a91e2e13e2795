#include "cluster/local/nodeagent/node_agent.h"

#include "cluster/kube/informer.h"
#include "cluster/local/nodeagent/agent_access.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/process_usage.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <fcntl.h>
#include <malloc.h>
#include <set>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;
namespace asio = boost::asio;

namespace {

fs::path besideThisProgram(const char *name)
{
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).parent_path() / name;
}

void raiseFileLimit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

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

class NodeAgent::Private : public std::enable_shared_from_this<NodeAgent::Private>
{
public:
    Private(asio::io_context &context, KubeClient &kube, NodeAgentOptions given)
        : io(context), client(kube), options(std::move(given)), access(pods), containerTimer(io)
    {
    }

    Status start();
    Status lockFolder();
    void endLeftovers();
    void watchNodes();
    void watchPods();
    void onNode(const InformerEvent &event);
    void onPod(const InformerEvent &event);
    void add(const KubeObject &object);
    void onGone(const std::string &uid);
    void onPodsSynced();
    void sweepFolders();
    void watchContainers();
    void stop(std::chrono::milliseconds patience, std::function<void()> done);
    void checkStopped();
    template<typename Handler>
    auto onIo(Handler handler);

    asio::io_context &io;
    KubeClient &client;
    NodeAgentOptions options;
    int lock = -1;
    std::optional<ImageTable> images;
    std::optional<PodAddresses> addresses;
    std::map<std::string, std::shared_ptr<const json>> nodes;
    std::set<std::string> lostNodes;
    std::map<std::string, KubeObject> homeless; ///< pods of nodes that aren't known (yet), by uid
    PodRunners pods;
    AgentAccess access;
    asio::steady_timer containerTimer;
    std::function<void()> stopped;
    bool isStopping = false;
    bool hasJustListed = false;
    bool knowsAllPods = false; ///< and so which addresses are in use
    std::unique_ptr<PodWriter> writer;
    std::unique_ptr<EventSink> events;
    std::unique_ptr<AgentContext> context;
    // Last, so that their threads end first.
    std::unique_ptr<WorkPool> writes, work;
    std::unique_ptr<Informer> nodeInformer, podInformer;
};

/// Has the handler called on the io_context, if the agent is still there then.
template<typename Handler>
auto NodeAgent::Private::onIo(Handler handler)
{
    return [weak = weak_from_this(), &context = io, handler](auto &&...values) {
        asio::post(context, [weak, handler, values...] {
            if (const auto self = weak.lock())
                handler(*self, values...);
        });
    };
}

Status NodeAgent::Private::lockFolder()
{
    std::error_code error;
    fs::create_directories(options.folder / "pods", error);
    fs::permissions(options.folder, fs::perms::owner_all, error);
    options.folder = fs::canonical(options.folder, error);
    const fs::path file = options.folder / "agent.lock";
    lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0)
        return fail(ErrorCode::FailedPrecondition, "can't write in '" + options.folder.string() + "'");
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0)
        return fail(ErrorCode::FailedPrecondition,
                    "'" + options.folder.string() + "' is in use by another agent; stop that one first");
    return {};
}

void NodeAgent::Private::endLeftovers()
{
    // Without PID namespaces, processes that detached themselves outlive an agent that was killed.
    for (int round = 0; round < 5; ++round) {
        const std::vector<int> left = processesWith("SLIPWAY_AGENT", options.folder.c_str());
        if (left.empty())
            return;
        for (const int pid : left)
            ::kill(pid, SIGKILL);
        ::usleep(20000);
    }
}

Status NodeAgent::Private::start()
{
    auto table = ImageTable::read(options.imagesFile, options.allowProcess);
    if (!table)
        return tl::unexpected(table.error());
    images = std::move(*table);
    auto range = PodAddresses::inRange(options.podCidr);
    if (!range)
        return tl::unexpected(range.error());
    addresses = std::move(*range);
    if (auto locked = lockFolder(); !locked)
        return locked;
    ::signal(SIGPIPE, SIG_IGN);
    raiseFileLimit();
    endLeftovers();
    const fs::path init
        = options.initProgram.empty() ? besideThisProgram("slipway-pod-init") : options.initProgram;
    const fs::path engine = options.programsFolder.empty() ? besideThisProgram("slipway-engine")
                                                           : options.programsFolder / "slipway-engine";
    const Isolation isolation = probeIsolation(init, options.folder);
    writes = std::make_unique<WorkPool>(io, options.writerThreads);
    work = std::make_unique<WorkPool>(io, 2);
    writer = std::make_unique<PodWriter>(io, *writes, client,
                                         [](const std::string &text) { spdlog::warn("{}", text); });
    events = std::make_unique<EventSink>(*writes, client);
    BackoffRules rules;
    rules.timeScale = options.timeScale;
    context = std::make_unique<AgentContext>(AgentContext{
        io, client, options, *images, *writer, *events, *addresses, *work, isolation, init, engine, rules,
        [this](const std::string &name) {
            const auto found = nodes.find(name);
            return found == nodes.end() ? nullptr : found->second;
        },
        [this](const std::string &uid) { onGone(uid); }});
    watchNodes();
    watchContainers();
    return {};
}

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
        if (table.isSimulated(parsePod(view)))
            pruneSimulatedPod(pod);
    };
    podInformer
        = std::make_unique<Informer>(client, coreV1("pods"), std::move(handlers), std::move(watching));
}

void NodeAgent::Private::onNode(const InformerEvent &event)
{
    const std::string name = textOf(fieldOf(*event.object, "metadata"), "name");
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
}

void NodeAgent::Private::onGone(const std::string &uid)
{
    const auto found = pods.find(uid);
    if (found == pods.end())
        return;
    // Not at once: it is the pod itself that says so.
    asio::post(io, [kept = found->second] {});
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

/// Every two seconds: names, and memory limits, which are kept by looking (cgroups can't be had everywhere).
void NodeAgent::Private::watchContainers()
{
    containerTimer.expires_after(std::chrono::seconds(2));
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
                if (limit == 0 || runner == nullptr || !runner->isRunning())
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

void NodeAgent::Private::stop(std::chrono::milliseconds patience, std::function<void()> done)
{
    isStopping = true;
    stopped = std::move(done);
    nodeInformer.reset();
    podInformer.reset();
    containerTimer.cancel();
    const PodRunners known = pods;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience).count();
    for (const auto &[uid, pod] : known)
        pod->terminateSilently(std::max<std::int64_t>(1, seconds));
    auto timer = std::make_shared<asio::steady_timer>(io, patience);
    timer->async_wait([weak = weak_from_this(), timer](boost::system::error_code) {
        if (const auto self = weak.lock()) {
            const PodRunners left = self->pods;
            for (const auto &[uid, pod] : left)
                pod->killSilently();
        }
    });
    checkStopped();
}

void NodeAgent::Private::checkStopped()
{
    if (!pods.empty() || !stopped)
        return;
    asio::post(io, std::exchange(stopped, nullptr));
}

NodeAgent::NodeAgent(asio::io_context &io, KubeClient &client, NodeAgentOptions options)
    : m_p(std::make_shared<Private>(io, client, std::move(options)))
{
}

NodeAgent::~NodeAgent()
{
    m_p->isStopping = true;
    m_p->stopped = nullptr;
    m_p->nodeInformer.reset();
    m_p->podInformer.reset();
    m_p->work.reset();
    m_p->writes.reset();
    const PodRunners known = m_p->pods;
    for (const auto &[uid, pod] : known)
        pod->killSilently();
    if (m_p->lock >= 0)
        ::close(m_p->lock);
}

Status NodeAgent::start()
{
    return m_p->start();
}

void NodeAgent::stop(std::chrono::milliseconds patience, std::function<void()> stopped)
{
    m_p->stop(patience, std::move(stopped));
}

PodAccess &NodeAgent::access()
{
    return m_p->access;
}

void NodeAgent::setNodeLost(const std::string &node, bool isLost)
{
    if (isLost) {
        m_p->lostNodes.insert(node);
        const PodRunners known = m_p->pods;
        for (const auto &[uid, pod] : known) {
            if (pod->spec().node == node)
                pod->killSilently();
        }
        return;
    }
    if (m_p->lostNodes.erase(node) == 0 || !m_p->podInformer)
        return;
    for (const KubeObject &object : m_p->podInformer->objects()) {
        const bool isKnown = m_p->pods.contains(textOf(fieldOf(*object, "metadata"), "uid"));
        if (!isKnown && textOf(fieldOf(*object, "spec"), "nodeName") == node)
            m_p->add(object);
    }
}

NodeAgent::Counts NodeAgent::counts() const
{
    Counts counts;
    counts.pods = m_p->pods.size();
    for (const auto &[uid, pod] : m_p->pods) {
        for (std::size_t i = 0; i < pod->spec().containers.size(); ++i)
            counts.processes += pod->runner(i) != nullptr ? 1 : 0;
        counts.running += pod->record().sandbox == SandboxState::Ready && !pod->record().isTornDown ? 1 : 0;
    }
    counts.pendingWrites = m_p->writer ? m_p->writer->pending() : 0;
    return counts;
}

} // namespace cluster::local
