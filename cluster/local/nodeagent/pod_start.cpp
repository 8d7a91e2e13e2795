#include "cluster/local/nodeagent/pod_process.h"

#include "cluster/local/nodeagent/bucket_volumes.h"
#include "cluster/local/nodeagent/container_limits.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_status.h"

#include <cstdio>
#include <random>

// The actions of a pod: starts and ends of containers.
namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// As container runtimes name runs; nothing can be looked up by it.
std::string containerId()
{
    thread_local std::mt19937_64 numbers{std::random_device{}()};
    char text[65];
    for (int i = 0; i < 4; ++i)
        std::snprintf(text + 16 * i, 17, "%016llx", static_cast<unsigned long long>(numbers()));
    return std::string("slipway://") + text;
}

} // namespace

PreparationInput PodRunner::preparation(std::size_t container) const
{
    PreparationInput input;
    input.pod = m_pod;
    input.container = container;
    if (m_process) {
        input.volumes = m_process->volumes;
        input.deviceVariables = deviceVariables(m_process->devices);
        input.metadataVariables = m_process->metadata.variables;
    }
    input.podIp = m_record.podIp;
    input.hostIp = m_record.hostIp;
    input.node = m_context.node(m_pod->node);
    input.folder = folder();
    return input;
}

void PodRunner::start(std::size_t container)
{
    if (refuseImageName(container))
        return;
    const ContainerSpec &spec = m_pod->containers[container];
    // Beside containers without a process there is nothing that a debugger could look at.
    const auto choice = m_context.images.choose(spec, m_isSimulated ? "simulated" : m_pod->runtime);
    if (!choice) {
        refuseImage(container, choice.error().message);
        return;
    }
    if (choice->kind == RuntimeKind::Simulated) {
        if (!m_isSimulated)
            annotate("slipway.dev/stand-in", choice->standIn);
        startSimulated(container);
        return;
    }
    m_record.containers[container].phase = ContainerPhase::Starting;
    updateHosts();
    prepare(container, *choice);
}

void PodRunner::startSimulated(std::size_t container)
{
    ContainerRecord &record = m_record.containers[container];
    noteStart(record, now(), m_context.rules);
    record.containerId = containerId();
    record.isReady = record.isStarted = true;
    const json &annotations = fieldOf(fieldOf(*m_pod->object, "metadata"), "annotations");
    const std::string runs = textOf(annotations, "slipway.dev/run-seconds");
    const bool ends
        = !runs.empty() || m_pod->isOfJob || m_pod->containers[container].role == ContainerRole::Init;
    if (!ends)
        return;
    const double seconds = runs.empty() || m_pod->containers[container].role == ContainerRole::Init
        ? 1.0
        : std::atof(runs.c_str());
    const int code = std::atoi(textOf(annotations, "slipway.dev/exit-code", "0").c_str());
    auto timer = std::make_shared<boost::asio::steady_timer>(m_context.io, m_context.scaled(seconds));
    timer->async_wait([weak = weak_from_this(), container, code, timer](boost::system::error_code error) {
        const auto self = weak.lock();
        if (error || !self || self->m_record.containers[container].phase != ContainerPhase::Running)
            return;
        const ContainerRecord &ran = self->m_record.containers[container];
        self->onEnded(container,
                      {code, 0, code == 0 ? "Completed" : "Error", {}, ran.startedAt, self->now(), {}});
    });
}

void PodRunner::prepare(std::size_t container, const RuntimeChoice &choice)
{
    PreparationInput input = preparation(container);
    input.choice = choice;
    const std::weak_ptr<PodRunner> weak = weak_from_this();
    m_context.work.run(
        [weak, &context = m_context, container, input = std::move(input)]() -> std::function<void()> {
            auto prepared = std::make_shared<Result<PreparedContainer>>(prepareContainer(context, input));
            return [weak, container, prepared] {
                if (const auto self = weak.lock())
                    self->onPrepared(container, std::move(*prepared));
            };
        });
}

void PodRunner::onPrepared(std::size_t container, Result<PreparedContainer> prepared)
{
    ContainerRecord &record = m_record.containers[container];
    const ContainerSpec &spec = m_pod->containers[container];
    if (m_isSilent || m_pod->deletionGrace || m_record.verdict) {
        record.phase = record.end ? ContainerPhase::Ended : ContainerPhase::Waiting;
        if (m_isSilent)
            finish();
        else
            sync();
        return;
    }
    if (!prepared && prepared.error().code == ErrorCode::Unavailable) {
        refuseImage(container, prepared.error().message);
        sync();
        return;
    }
    if (!prepared) {
        record.phase = ContainerPhase::Waiting;
        record.waitingReason = "CreateContainerConfigError";
        record.waitingMessage = prepared.error().message;
        record.retryAt = now() + m_context.scaled(5);
        event(container, EventType::Warning, "Failed", "Error: " + prepared.error().message);
        sync();
        return;
    }
    record.waitingReason.clear();
    record.waitingMessage.clear();
    if (!prepared->standIn.empty())
        annotate("slipway.dev/stand-in", prepared->standIn);
    if (const std::string limits = limitsText(*m_pod, m_context.cgroups != nullptr); !limits.empty())
        annotate("slipway.dev/limits", limits);
    tellImage(container);
    event(container, EventType::Normal, "Created", "Created container: " + spec.name);
    const int run = record.hasRun ? record.restarts + 1 : 0;
    auto log = std::make_shared<ContainerLog>(logFile(container, run));
    std::error_code error;
    fs::remove_all(logFile(container, run - 2).parent_path(), error);
    m_process->previousLogs[container] = std::exchange(m_process->logs[container], log);
    const std::string message = (folder() / "messages" / spec.name).string();
    auto runner = std::make_shared<ContainerRunner>(m_context, m_pod, container, m_record.podIp,
                                                    std::move(log), message, handlersOf(container));
    m_process->runners[container] = runner;
    joinTarget(container, prepared->launch);
    runner->launch(std::move(*prepared));
}

/// What `kubectl debug --target` asks for: the processes, and with them the files, of another container.
void PodRunner::joinTarget(std::size_t container, LaunchSpec &launch) const
{
    const std::string &target = m_pod->containers[container].target;
    for (std::size_t i = 0; !target.empty() && i < m_pod->containers.size(); ++i) {
        const ContainerRunner *other = runner(i);
        if (m_pod->containers[i].name != target || other == nullptr || !other->isRunning())
            continue;
        launch.joinPid = other->pid();
        launch.ownMounts = launch.ownProcesses = false;
        launch.mounts.clear();
    }
}

ContainerRunner::Handlers PodRunner::handlersOf(std::size_t container)
{
    const std::weak_ptr<PodRunner> weak = weak_from_this();
    const auto with = [weak](auto action) {
        return [weak, action](auto &&...values) {
            if (const auto self = weak.lock())
                action(*self, std::forward<decltype(values)>(values)...);
        };
    };
    ContainerRunner::Handlers handlers;
    handlers.started = with([container](PodRunner &pod) { pod.onStarted(container); });
    handlers.readyChanged = with([container](PodRunner &pod, bool isReady) {
        pod.m_record.containers[container].isReady = isReady;
        pod.sync();
    });
    handlers.startupPassed = with([container](PodRunner &pod) {
        pod.m_record.containers[container].isStarted = true;
        pod.sync();
    });
    handlers.event
        = with([container](PodRunner &pod, EventType type, const std::string &reason,
                           const std::string &message) { pod.event(container, type, reason, message); });
    handlers.ended = with(
        [container](PodRunner &pod, ContainerEnd end) { pod.onProcessEnded(container, std::move(end)); });
    return handlers;
}

void PodRunner::onStarted(std::size_t container)
{
    ContainerRecord &record = m_record.containers[container];
    const bool wasStopping = record.isStopping;
    noteStart(record, now(), m_context.rules);
    record.isStopping = wasStopping;
    record.isStarted = record.isReady = false;
    record.containerId = containerId();
    event(container, EventType::Normal, "Started", "Started container " + m_pod->containers[container].name);
    sync();
}

/// Whoever sees the end finds what was written in the buckets.
void PodRunner::onProcessEnded(std::size_t container, ContainerEnd end)
{
    const auto &buckets = m_context.options.buckets;
    if (!buckets || !mayHaveBuckets(*m_pod)) {
        onEnded(container, std::move(end));
        return;
    }
    m_context.work.run([weak = weak_from_this(), buckets, uid = m_pod->uid, container,
                        end = std::move(end)]() -> std::function<void()> {
        const Status flushed = buckets->flush(uid);
        return [weak, container, end, flushed] {
            const auto self = weak.lock();
            if (!self)
                return;
            if (!flushed)
                self->podEvent(EventType::Warning, "FailedToUpload", flushed.error().message);
            self->onEnded(container, end);
        };
    });
}

void PodRunner::onEnded(std::size_t container, ContainerEnd end)
{
    ContainerRecord &record = m_record.containers[container];
    if (end.reason == "StartError") {
        event(container, EventType::Warning, "Failed", "Error: " + end.message);
        noteStart(record, now(), m_context.rules);
        record.containerId = containerId();
    }
    end.containerId = record.containerId;
    noteEnd(record, std::move(end));
    if (m_process)
        m_process->runners[container].reset();
    if (!m_isSilent)
        sync();
    else if (!hasProcesses())
        finish();
}

void PodRunner::stop(std::size_t container, std::int64_t grace)
{
    ContainerRecord &record = m_record.containers[container];
    record.isStopping = true;
    if (ContainerRunner *running = runner(container)) {
        event(container, EventType::Normal, "Killing",
              "Stopping container " + m_pod->containers[container].name);
        running->stop(grace);
    } else if (record.phase == ContainerPhase::Running) {
        ContainerEnd end{0, 0, "Completed", {}, record.startedAt, now(), record.containerId};
        noteEnd(record, std::move(end));
    }
}

void PodRunner::backOff(std::size_t container)
{
    ContainerRecord &record = m_record.containers[container];
    const ContainerSpec &spec = m_pod->containers[container];
    record.phase = ContainerPhase::Waiting;
    record.waitingReason = "CrashLoopBackOff";
    record.waitingMessage = "back-off " + durationText(record.backoff)
        + " restarting failed container=" + spec.name + " pod=" + m_pod->label();
    event(container, EventType::Warning, "BackOff",
          "Back-off restarting failed container " + spec.name + " in pod " + m_pod->label());
}

ContainerRunner *PodRunner::runner(std::size_t container) const
{
    return m_process ? m_process->runners[container].get() : nullptr;
}

fs::path PodRunner::logFile(std::size_t container, int run) const
{
    return folder() / "logs" / m_pod->containers[container].name / std::to_string(run) / "log";
}

Result<std::shared_ptr<ContainerLog>> PodRunner::log(std::size_t container, bool previous)
{
    const ContainerSpec &spec = m_pod->containers[container];
    const ContainerRecord &record = m_record.containers[container];
    if (m_isSimulated || !m_process)
        return fail(ErrorCode::NotFound,
                    "container \"" + spec.name + "\" in pod \"" + m_pod->name
                        + "\" is simulated: it has no process and no log");
    // Between two runs the one that has ended is both: the newest there is, and the previous one.
    const bool isBetweenRuns = record.end && record.phase != ContainerPhase::Ended;
    if (previous && !isBetweenRuns) {
        if (record.restarts == 0 || !record.hasRun)
            return fail(ErrorCode::InvalidArgument,
                        "previous terminated container \"" + spec.name + "\" in pod \"" + m_pod->name
                            + "\" not found");
        if (auto &log = m_process->previousLogs[container])
            return log;
        auto log
            = std::make_shared<ContainerLog>(logFile(container, record.restarts - 1)); // of an earlier agent
        log->close();
        return log;
    }
    if (!record.hasRun && !m_process->logs[container]) {
        const std::string reason = waitingReason(*m_pod, m_record, container);
        return fail(ErrorCode::InvalidArgument,
                    "container \"" + spec.name + "\" in pod \"" + m_pod->name
                        + "\" is waiting to start: " + reason);
    }
    if (auto &log = m_process->logs[container])
        return log;
    auto log = std::make_shared<ContainerLog>(logFile(container, record.restarts));
    log->close();
    return log;
}

} // namespace cluster::local
