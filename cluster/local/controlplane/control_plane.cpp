#include "cluster/local/controlplane/control_plane.h"

#include "cluster/local/controlplane/api_access.h"
#include "cluster/local/controlplane/control_plane_config.h"
#include "cluster/local/controlplane/control_plane_folder.h"
#include "cluster/local/controlplane/control_plane_programs.h"
#include "cluster/local/controlplane/process_supervisor.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace cluster::local {
namespace {

using Stage = ControlPlaneState::Stage;

constexpr std::chrono::milliseconds readyPause{50};
constexpr int hopelessRestarts = 4; ///< of one program while the whole comes up: waiting longer helps nobody

} // namespace

class ControlPlane::Impl
{
public:
    Impl(ControlPlaneOptions options, EventHandler onEvent)
        : m_options(std::move(options)), m_onEvent(std::move(onEvent))
    {
        m_options.ray = m_options.ray && m_options.controllers;
    }

    Result<ControlPlaneEndpoint> start(const StageHandler &onStage, const CancelToken &cancel,
                                       const EndpointHandler &onServing);
    Status enableRay(const CancelToken &cancel);
    Status startRayOperator();
    void stop();
    ControlPlaneState state() const;

private:
    Status bringUp(const ControlPlaneEndpoint &endpoint, const StageHandler &onStage,
                   const CancelToken &cancel, const EndpointHandler &onServing);
    Status startControllers(ApiAccess &api, const StageHandler &onStage, const CancelToken &cancel,
                            const Deadline &deadline);
    Status startRay(ApiAccess &api, const CancelToken &cancel, const Deadline &deadline);
    Status add(const ProgramLine &line);
    Status waitFor(const std::string &what, ApiAccess &api, const std::string &path,
                   const CancelToken &cancel, const Deadline &deadline);
    Status checkPrograms(const std::string &what) const;
    void setStage(Stage stage);

    ControlPlaneOptions m_options;
    EventHandler m_onEvent;
    ControlPlaneEndpoint m_endpoint; ///< of the last start
    std::optional<FolderLock> m_lock;
    mutable std::mutex m_mutex; ///< of the two below, which state() reads from other threads
    Stage m_stage = Stage::Stopped;
    std::shared_ptr<ProcessSupervisor> m_supervisor;
};

void ControlPlane::Impl::setStage(Stage stage)
{
    const std::lock_guard guard(m_mutex);
    m_stage = stage;
}

Result<ControlPlaneEndpoint> ControlPlane::Impl::start(const StageHandler &onStage, const CancelToken &cancel,
                                                       const EndpointHandler &onServing)
{
    auto programs = findControlPlanePrograms({m_options.programs}, m_options.controllers, m_options.ray);
    if (!programs)
        return tl::unexpected(programs.error());
    auto lock = FolderLock::take(m_options.dir);
    if (!lock)
        return tl::unexpected(lock.error());
    auto endpoint = prepareFolder(m_options, std::chrono::system_clock::now());
    if (!endpoint)
        return endpoint;
    m_lock = std::move(*lock);
    m_endpoint = *endpoint;
    {
        const std::lock_guard guard(m_mutex);
        m_stage = Stage::Starting;
        m_supervisor = std::make_shared<ProcessSupervisor>(m_onEvent);
    }
    if (auto up = bringUp(*endpoint, onStage, cancel, onServing); !up) {
        stop();
        return tl::unexpected(up.error());
    }
    setStage(Stage::Running);
    return endpoint;
}

Status ControlPlane::Impl::bringUp(const ControlPlaneEndpoint &endpoint, const StageHandler &onStage,
                                   const CancelToken &cancel, const EndpointHandler &onServing)
{
    const Deadline deadline = Deadline::after(m_options.startTimeout);
    const auto say = [&onStage](const char *text) {
        if (onStage)
            onStage(text);
    };
    say("starting etcd and kube-apiserver");
    if (auto added = add(etcdLine()); !added)
        return added;
    if (auto added = add(apiServerLine(m_options, endpoint.port)); !added)
        return added;
    ApiAccess api(endpoint);
    if (auto ready = waitFor("kube-apiserver", api, "/readyz", cancel, deadline); !ready)
        return ready;
    if (onServing)
        onServing(endpoint);
    if (!m_options.controllers)
        return {};
    say("starting the controllers and the scheduler");
    return startControllers(api, onStage, cancel, deadline);
}

Status ControlPlane::Impl::startControllers(ApiAccess &api, const StageHandler &onStage,
                                            const CancelToken &cancel, const Deadline &deadline)
{
    if (auto added = add(controllerManagerLine()); !added)
        return added;
    if (auto added = add(schedulerLine()); !added)
        return added;
    if (m_options.ray) {
        if (onStage)
            onStage("adding Ray's kinds and operator");
        if (auto started = startRay(api, cancel, deadline); !started)
            return started;
    }
    if (onStage)
        onStage("waiting for the controllers"); // without this account no Pod can be created
    return waitFor("kube-controller-manager", api, "/api/v1/namespaces/default/serviceaccounts/default",
                   cancel, deadline);
}

Status ControlPlane::Impl::startRay(ApiAccess &api, const CancelToken &cancel, const Deadline &deadline)
{
    if (auto applied = api.applyDefinitions(m_options.programs / "definitions", deadline); !applied)
        return applied;
    for (const std::string &path : ApiAccess::listPaths(m_options.programs / "definitions")) {
        if (auto served = waitFor(path, api, path + "?limit=1", cancel, deadline); !served)
            return served;
    }
    return m_options.rayOperatorOnDemand ? Status{} : add(rayOperatorLine());
}

Status ControlPlane::Impl::startRayOperator()
{
    const ControlPlaneState now = state();
    if (now.stage != Stage::Running || !m_options.ray)
        return fail(ErrorCode::FailedPrecondition,
                    "the control plane of " + m_options.name + " does not run with Ray's kinds");
    const ProgramLine line = rayOperatorLine();
    const bool isThere = std::ranges::any_of(
        now.processes, [&](const ProcessState &process) { return process.name == line.name; });
    return isThere ? Status{} : add(line);
}

Status ControlPlane::Impl::enableRay(const CancelToken &cancel)
{
    if (state().stage != Stage::Running || !m_options.controllers)
        return fail(ErrorCode::FailedPrecondition,
                    "the control plane of " + m_options.name + " does not run with its controllers");
    if (m_options.ray)
        return {};
    if (auto programs = findControlPlanePrograms({m_options.programs}, true, true); !programs)
        return tl::unexpected(programs.error());
    ApiAccess api(m_endpoint);
    auto started = startRay(api, cancel, Deadline::after(m_options.startTimeout));
    m_options.ray = started.has_value();
    return started;
}

Status ControlPlane::Impl::add(const ProgramLine &line)
{
    SupervisedProgram supervised;
    supervised.program.name = line.name;
    supervised.program.arguments = {(m_options.programs / line.name).string()};
    supervised.program.arguments.insert(supervised.program.arguments.end(), line.arguments.begin(),
                                        line.arguments.end());
    supervised.program.environment = line.environment;
    supervised.program.environment.push_back("HOME=" + m_options.dir.string());
    supervised.program.environment.emplace_back("PATH=/usr/bin:/bin");
    supervised.program.workingFolder = m_options.dir;
    supervised.logFile = m_options.dir / "logs" / (line.name + ".log");
    return m_supervisor->add(std::move(supervised));
}

Status ControlPlane::Impl::waitFor(const std::string &what, ApiAccess &api, const std::string &path,
                                   const CancelToken &cancel, const Deadline &deadline)
{
    std::mutex mutex;
    std::condition_variable_any wakened;
    std::unique_lock lock(mutex);
    while (!api.answers(path)) {
        if (cancel.stop_requested())
            return fail(ErrorCode::Cancelled,
                        "starting the control plane of " + m_options.name + " was cancelled");
        if (auto alive = checkPrograms(what); !alive)
            return alive;
        if (deadline.hasPassed())
            return fail(ErrorCode::DeadlineExceeded,
                        what + " of " + m_options.name + " was not ready after "
                            + std::to_string(m_options.startTimeout.count()) + " s; its log is below "
                            + (m_options.dir / "logs").string());
        wakened.wait_for(lock, cancel, readyPause, [] { return false; });
    }
    return {};
}

/// An error if one of them ends again and again.
Status ControlPlane::Impl::checkPrograms(const std::string &what) const
{
    for (const ProcessState &process : m_supervisor->states()) {
        if (process.restarts < hopelessRestarts)
            continue;
        const std::string words = m_supervisor->lastWordsOf(process.name);
        return fail(ErrorCode::Unavailable,
                    process.name + " of " + m_options.name + " ends again and again (" + process.lastExit
                        + ") while waiting for " + what + (words.empty() ? "" : "; its last words: " + words)
                        + ". Log: " + process.logFile.string());
    }
    return {};
}

void ControlPlane::Impl::stop()
{
    std::shared_ptr<ProcessSupervisor> supervisor;
    {
        const std::lock_guard guard(m_mutex);
        if (!m_supervisor)
            return;
        m_stage = Stage::Stopping;
        supervisor = m_supervisor;
    }
    supervisor->stopAll();
    {
        const std::lock_guard guard(m_mutex);
        m_supervisor.reset();
        m_stage = Stage::Stopped;
    }
    m_lock.reset();
}

ControlPlaneState ControlPlane::Impl::state() const
{
    ControlPlaneState state;
    std::shared_ptr<ProcessSupervisor> supervisor;
    {
        const std::lock_guard guard(m_mutex);
        state.stage = m_stage;
        supervisor = m_supervisor;
    }
    if (supervisor)
        state.processes = supervisor->states();
    return state;
}

ControlPlane::ControlPlane(ControlPlaneOptions options, EventHandler onEvent)
    : m_impl(std::make_unique<Impl>(std::move(options), std::move(onEvent)))
{
}

ControlPlane::~ControlPlane()
{
    stop();
}

Result<ControlPlaneEndpoint> ControlPlane::start(const StageHandler &onStage, const CancelToken &cancel,
                                                 const EndpointHandler &onServing)
{
    return m_impl->start(onStage, cancel, onServing);
}

Status ControlPlane::startRayOperator()
{
    return m_impl->startRayOperator();
}

Status ControlPlane::enableRay(const CancelToken &cancel)
{
    return m_impl->enableRay(cancel);
}

void ControlPlane::stop()
{
    m_impl->stop();
}

ControlPlaneState ControlPlane::state() const
{
    return m_impl->state();
}

} // namespace cluster::local
