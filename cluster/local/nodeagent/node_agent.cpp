#include "cluster/local/nodeagent/node_agent.h"

#include "cluster/local/nodeagent/agent_private.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/process_usage.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <spdlog/spdlog.h>
#include <sstream>
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

std::string randomText()
{
    std::random_device random;
    std::string text;
    for (int i = 0; i < 8; ++i)
        text += std::to_string(random());
    return text;
}

} // namespace

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

void NodeAgent::Private::findCgroups()
{
    std::ifstream own("/proc/self/cgroup");
    std::stringstream groups;
    groups << own.rdbuf();
    // Of this folder's agent alone, and found again by the next one.
    const std::size_t name = std::hash<std::string>()(options.folder.string());
    cgroups = options.cgroups.empty() ? std::nullopt
                                      : CgroupTree::find(options.cgroups, groups.str(), std::to_string(name));
    if (cgroups)
        cgroups->removeAll();
}

Status NodeAgent::Private::start()
{
    auto table = ImageTable::read(options.imagesFile, {options.allowProcess, !options.podman.empty()});
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
    const fs::path ray = options.programsFolder.empty() ? besideThisProgram("slipway-ray")
                                                        : options.programsFolder / "slipway-ray";
    const Isolation isolation = probeIsolation(init, options.folder);
    findCgroups();
    writes = std::make_unique<WorkPool>(io, options.writerThreads);
    // Pulls take minutes: others go on beside them.
    work = std::make_unique<WorkPool>(io, options.podman.empty() ? 2 : 6);
    probes = std::make_unique<WorkPool>(io, 2);
    writer = std::make_unique<PodWriter>(io, *writes, client,
                                         [](const std::string &text) { spdlog::warn("{}", text); });
    events = std::make_unique<EventSink>(*writes, client);
    claims = std::make_unique<DeviceClaims>(client, options.folder / "dra_manager_state");
    if (const Status loaded = claims->load(); !loaded)
        spdlog::warn("{}; pods' devices are prepared anew", loaded.error().message);
    BackoffRules rules;
    rules.timeScale = options.timeScale;
    context = std::make_unique<AgentContext>(AgentContext{io,
                                                          client,
                                                          options,
                                                          *images,
                                                          *writer,
                                                          *events,
                                                          *addresses,
                                                          *claims,
                                                          *work,
                                                          *probes,
                                                          isolation,
                                                          init,
                                                          engine,
                                                          ray,
                                                          cgroups ? &*cgroups : nullptr,
                                                          randomText(),
                                                          machineProcessors(),
                                                          rules,
                                                          [this](const std::string &name) {
                                                              const auto found = nodes.find(name);
                                                              return found == nodes.end() ? nullptr
                                                                                          : found->second;
                                                          },
                                                          [this](const std::string &uid) { onGone(uid); }});
    watchNodes();
    watchContainers();
    return {};
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
    m_p->probes.reset();
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
    m_p->shutdowns.erase(node);
    if (m_p->lostNodes.erase(node) == 0 || !m_p->podInformer)
        return;
    for (const KubeObject &object : m_p->podInformer->objects()) {
        const bool isKnown = m_p->pods.contains(textOf(fieldOf(*object, "metadata"), "uid"));
        if (!isKnown && textOf(fieldOf(*object, "spec"), "nodeName") == node)
            m_p->add(object);
    }
}

void NodeAgent::shutDownNode(const std::string &node, std::chrono::seconds grace)
{
    m_p->shutDownNode(node, grace);
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
