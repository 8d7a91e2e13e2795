#include "cluster/local/nodeagent/container_parts.h"

#include <algorithm>
#include <cctype>

namespace cluster::local {

ProbeTarget ContainerRunner::probeTarget()
{
    ProbeTarget target{m_podIp, localAddress(m_podIp), spec().ports, {}, &m_context.probes};
    target.run = [weak = weak_from_this()](const std::vector<std::string> &command,
                                           const std::function<void(const CommandEnd &)> &done) {
        if (const auto self = weak.lock())
            self->runCommand(command, done);
    };
    return target;
}

ProbeTarget ContainerRunner::hookTarget()
{
    ProbeTarget target = probeTarget();
    target.isHook = true;
    return target;
}

void ContainerRunner::runCommand(const std::vector<std::string> &command,
                                 const std::function<void(const CommandEnd &)> &done)
{
    if (m_pid == 0) {
        done({0, {}, "the container is not running"});
        return;
    }
    const LaunchSpec launch = launchBeside(command, false, false);
    const auto output = std::make_shared<std::string>();
    LaunchHandlers handlers;
    handlers.onOutput = [output](OutputStream, std::string_view text) {
        constexpr std::size_t most = 10240; // kubelet keeps as much of a probe's output
        output->append(text.substr(0, most - std::min(most, output->size())));
    };
    handlers.onEnd = [output, done](const LaunchEnd &end) { done({end.exitCode, *output, end.startError}); };
    const auto process = LaunchedProcess::launch(m_context.io, m_context.initProgram, launch, {}, handlers);
    if (!process) {
        done({0, {}, process.error().message});
        return;
    }
    std::erase_if(m_commands, [](const auto &known) { return known.expired(); });
    m_commands.push_back(*process);
}

void ContainerRunner::startProbes()
{
    if (m_isStopping || m_handlers.started == nullptr)
        return;
    const bool isStarted = m_loops.empty();
    const auto add = [this](const char *name, const std::shared_ptr<const ProbeSpec> &probe, bool initial) {
        m_loops.push_back(std::make_shared<ProbeLoop>(m_context.io, name, probe, initial));
    };
    if (isStarted && spec().startup) {
        add("Startup", spec().startup, false);
    } else {
        m_handlers.startupPassed();
        m_loops.clear();
        if (spec().liveness)
            add("Liveness", spec().liveness, true);
        if (spec().readiness)
            add("Readiness", spec().readiness, false);
        else
            m_handlers.readyChanged(true);
    }
    for (const auto &loop : m_loops)
        startLoop(loop, true);
}

void ContainerRunner::startLoop(const std::shared_ptr<ProbeLoop> &loop, bool isFirst)
{
    auto wait = m_context.scaled(loop->spec->period);
    if (isFirst) { // counted from the container's start: a startup probe may have used it up
        const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::system_clock::now() - m_startedAt);
        wait = std::max(m_context.scaled(loop->spec->initialDelay) - age, std::chrono::milliseconds(0));
    }
    loop->timer.expires_after(wait);
    const std::weak_ptr<ProbeLoop> weakLoop = loop; // it may end while its handler is queued
    loop->timer.async_wait([weak = weak_from_this(), weakLoop](boost::system::error_code error) {
        const auto self = weak.lock();
        const auto due = weakLoop.lock();
        if (error || !self || !due || self->m_isStopping)
            return;
        due->attempt
            = runProbe(self->m_context.io, due->spec->action, self->probeTarget(),
                       std::chrono::seconds(due->spec->timeout), [weak, weakLoop](const ProbeResult &result) {
                           const auto runner = weak.lock();
                           const auto asked = weakLoop.lock();
                           if (runner && asked)
                               runner->onProbe(asked, result);
                       });
    });
}

void ContainerRunner::onProbe(const std::shared_ptr<ProbeLoop> &loop, const ProbeResult &result)
{
    const auto self = shared_from_this();
    const std::string name = loop->name;
    if (result.isUnknown) { // no result: it counts for nothing
        m_handlers.event(EventType::Warning, "Unhealthy",
                         name + " probe errored and resulted in unknown state: " + result.message);
        startLoop(loop, false);
        return;
    }
    if (!result.isSuccess)
        m_handlers.event(EventType::Warning, "Unhealthy", name + " probe failed: " + result.message);
    else if (result.isWarning)
        m_handlers.event(EventType::Warning, "ProbeWarning", name + " probe warning: " + result.message);
    const bool isNew = loop->tally.add(result.isSuccess);
    const bool verdict = loop->tally.verdict();
    if (isNew && name == "Readiness")
        m_handlers.readyChanged(verdict);
    if (isNew && !verdict && name != "Readiness") {
        failProbe(*loop);
        return;
    }
    if (isNew && verdict && name == "Startup") {
        startProbes();
        return;
    }
    startLoop(loop, false);
}

void ContainerRunner::failProbe(ProbeLoop &loop)
{
    std::string name = loop.name;
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    const std::int64_t grace = loop.spec->graceSeconds.value_or(static_cast<int>(m_pod->grace));
    const bool isRestarted
        = m_pod->restartPolicy != RestartPolicy::Never || spec().role == ContainerRole::Sidecar;
    m_handlers.event(EventType::Normal, "Killing",
                     "Container " + spec().name + " failed " + name + " probe"
                         + (isRestarted ? ", will be restarted" : ""));
    stop(grace);
}

} // namespace cluster::local
