// How a cluster starts, stops, falls asleep and is waked.
#include "cluster/local/clusters/io_call.h"
#include "cluster/local/clusters/local_cluster_private.h"
#include "cluster/local/files/whole_files.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds portPatience{2}; ///< one that was killed lets go of its port a moment later
constexpr std::chrono::milliseconds portPause{50};

/// Often enough to fall asleep about when it was asked for.
std::chrono::milliseconds idleCheck(std::chrono::milliseconds stopIdle)
{
    using std::chrono::milliseconds;
    return stopIdle.count() == 0 ? stopIdle
                                 : std::clamp(stopIdle / 4, milliseconds(500), milliseconds(15000));
}

} // namespace

ClusterCall::ClusterCall(LocalCluster::Private &cluster) : m_cluster(cluster)
{
    const std::scoped_lock lock(m_cluster.mutex);
    ++m_cluster.calls;
}

ClusterCall::~ClusterCall()
{
    const std::scoped_lock lock(m_cluster.mutex);
    --m_cluster.calls;
    m_cluster.lastUse = LocalCluster::Private::Clock::now();
}

void LocalCluster::Private::setState(std::string state, std::string text)
{
    const std::scoped_lock lock(mutex);
    stateName = std::move(state);
    message = std::move(text);
}

void LocalCluster::Private::showControlPlane(std::shared_ptr<ControlPlane> plane)
{
    const std::scoped_lock lock(mutex);
    controlPlane.swap(plane); // what was there ends after the lock is open again: that takes a while
}

Status LocalCluster::Private::keep(KeptCluster changed)
{
    if (Status written = writeRecord(folder, changed); !written)
        return written;
    const std::scoped_lock lock(mutex);
    record = std::move(changed);
    return {};
}

std::shared_ptr<ClusterParts> LocalCluster::Private::runningParts() const
{
    const std::scoped_lock lock(mutex);
    return parts;
}

ControlPlaneOptions LocalCluster::Private::controlPlaneOptions(const AddressPlan &plan,
                                                               fs::path programs) const
{
    ControlPlaneOptions options;
    options.name = record.spec.name;
    options.dir = folder;
    options.programs = std::move(programs);
    options.egressSocket = folder / "run" / "egress.sock";
    options.serviceRange = plan.services().text();
    options.advertiseAddress = plan.controlPlane().text();
    options.tokens = {{surroundings.userToken, "you@slipway.local", {"system:masters"}}};
    options.ray = record.spec.rayOperator;
    options.rayOperatorOnDemand = true;
    return options;
}

std::unique_ptr<ClusterKeeper> LocalCluster::Private::makeKeeper()
{
    return std::make_unique<ClusterKeeper>(ClusterKeeper::Duties{
        [this](const CancelToken &cancel) { return start(nobodyAsks, cancel).has_value(); },
        [this](const CancelToken &cancel) { startRay(cancel); },
        [this](const CancelToken &cancel) { sleepIfIdle(cancel); }, idleCheck(surroundings.stopIdle)});
}

/// The port that clients know. It is there before the API server is, and stays while that sleeps.
Status LocalCluster::Private::openFront()
{
    if (front)
        return {};
    onIo(surroundings.io, [this] {
        front
            = std::make_unique<ApiFront>(surroundings.io, ApiFrontOptions{}, [this] { keeper->askToWake(); });
    });
    const auto listenOn = [this](std::uint16_t port) {
        return onIo(surroundings.io, [this, port] { return front->listen(port); });
    };
    KeptCluster changed = record;
    auto port = listenOn(changed.apiPort);
    for (const auto end = Clock::now() + portPatience; !port && changed.apiPort != 0 && Clock::now() < end;) {
        std::this_thread::sleep_for(portPause);
        port = listenOn(changed.apiPort);
    }
    if (!port) {
        surroundings.log(name,
                         port.error().message + "; clients need its new address: get-credentials once more");
        port = listenOn(0);
    }
    if (!port) {
        onIo(surroundings.io, [this] { front.reset(); });
        return tl::unexpected(port.error());
    }
    changed.apiPort = *port;
    const auto authority = readWholeFile(folder / "pki" / "ca.crt"); // of one that ran before
    {
        const std::scoped_lock lock(mutex);
        address = "127.0.0.1:" + std::to_string(*port);
        caPem = authority ? *authority : std::string();
    }
    return changed.apiPort == record.apiPort ? Status{} : keep(std::move(changed));
}

Status LocalCluster::Private::start(const StageHandler &onStage, const CancelToken &cancel)
{
    const std::scoped_lock oneAtATime(lifecycle);
    if (isRetired)
        return fail(ErrorCode::Cancelled, "the local target is being stopped");
    if (runningParts())
        return {};
    std::error_code error;
    fs::create_directories(folder / "run", error);
    if (Status open = openFront(); !open) {
        setState("failed", open.error().message);
        return open;
    }
    KeptCluster awake = record;
    awake.isAsleep = false;
    if (Status kept = keep(std::move(awake)); !kept)
        return kept;
    setState("starting");
    const Clock::time_point begun = Clock::now();
    Status done = run(onStage, cancel);
    if (done) {
        setState("running");
        const std::scoped_lock lock(mutex);
        lastUse = Clock::now();
    } else {
        showControlPlane(nullptr); // nothing of it runs
        onIo(surroundings.io, [this] {
            front->hold();
            front->dropHeld();
        });
        setState("failed", done.error().message);
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun).count();
    surroundings.log(name,
                     done ? "runs, after " + std::to_string(took) + " ms"
                          : "did not start: " + done.error().message);
    return done;
}

/// Our parts, as soon as the API answers; the controllers start meanwhile. Clients are let in before the
/// nodes are looked through: kubectl does not wait long.
Status LocalCluster::Private::connect(ClusterParts &around, const ControlPlaneEndpoint &endpoint)
{
    return around.start(record.pools, [this, port = endpoint.port] {
        onIo(surroundings.io, [this, port] { front->serve({*Ipv4::parse("127.0.0.1"), port, {}}); });
    });
}

Status LocalCluster::Private::run(const StageHandler &onStage, const CancelToken &cancel)
{
    auto programs = surroundings.controlPlanePrograms();
    if (!programs)
        return tl::unexpected(programs.error());
    const auto plan = AddressPlan::forCluster(record.index);
    if (!plan)
        return tl::unexpected(plan.error());
    auto plane = std::make_shared<ControlPlane>(
        controlPlaneOptions(*plan, std::move(*programs)),
        [log = surroundings.log, name = name](const ProcessEvent &event) {
            log(name, event.process + (event.message.empty() ? "" : ": " + event.message));
        });
    showControlPlane(plane); // so that its processes can be seen while they start
    std::shared_ptr<ClusterParts> around;
    std::future<Status> connecting;
    const auto started = plane->start(
        [&](const std::string &stage) { onStage(stage, 0.3); }, cancel,
        [&](const ControlPlaneEndpoint &endpoint) {
            around = std::make_shared<ClusterParts>(surroundings, folder, record.spec, *plan, endpoint);
            connecting = std::async(std::launch::async, [&, endpoint] { return connect(*around, endpoint); });
        });
    onStage("connecting the nodes", 0.8);
    Status ready = connecting.valid() ? connecting.get() : Status{};
    if (!started)
        return tl::unexpected(started.error()); // `around` ends with this
    if (!ready)
        return ready;
    if (record.spec.rayOperator)
        around->watchForRay([this] { keeper->askForRay(); });
    const std::scoped_lock lock(mutex);
    caPem = started->caPem;
    parts = std::move(around);
    return {};
}

void LocalCluster::Private::stopRunning(const std::string &nextState)
{
    std::shared_ptr<ClusterParts> oldParts;
    std::shared_ptr<ControlPlane> plane;
    {
        const std::scoped_lock lock(mutex);
        oldParts = std::exchange(parts, nullptr);
        plane = std::exchange(controlPlane, nullptr);
        if (oldParts || plane)
            stateName = nextState;
    }
    if (oldParts)
        oldParts->stop();
    if (plane)
        plane->stop();
}

void LocalCluster::Private::startRay(const CancelToken & /*cancel*/)
{
    const std::scoped_lock oneAtATime(lifecycle);
    const auto around = runningParts();
    if (!around)
        return;
    if (Status started = controlPlane->startRayOperator(); !started)
        surroundings.log(name, "Ray's operator did not start: " + started.error().message);
}

/// Whether anybody used it so lately that it stays awake.
bool LocalCluster::Private::isUsed(Clock::time_point now)
{
    const auto around = runningParts();
    if (!around)
        return true; // nothing to put to sleep
    const ApiFront::Use clients = onIo(surroundings.io, [this] { return front->use(); });
    const bool hasWork = clients.connections > 0 || around->hasUserWork();
    const std::scoped_lock lock(mutex);
    if (hasWork || calls > 0)
        lastUse = now;
    return now - std::max(lastUse, clients.last) < surroundings.stopIdle;
}

void LocalCluster::Private::sleepIfIdle(const CancelToken &cancel)
{
    const std::unique_lock oneAtATime(lifecycle, std::try_to_lock);
    if (!oneAtATime || !front || isUsed(Clock::now()))
        return;
    if (!onIo(surroundings.io, [this] { return front->holdIfUnused(); }))
        return;
    // Nobody can come in any more: what was done until now is seen by a second look.
    if (cancel.stop_requested() || isUsed(Clock::now())) {
        const std::uint16_t port = runningParts()->endpoint().port;
        onIo(surroundings.io, [this, port] { front->serve({*Ipv4::parse("127.0.0.1"), port, {}}); });
        return;
    }
    KeptCluster asleep = record;
    asleep.isAsleep = true;
    if (Status kept = keep(std::move(asleep)); !kept)
        surroundings.log(name, kept.error().message); // it sleeps all the same
    surroundings.log(name, "nobody uses it: it is put to sleep");
    stopRunning("falling asleep");
    setState("asleep");
    // Whoever came meanwhile was asked for while it still ran; that call waits for `lifecycle`.
}

} // namespace cluster::local
