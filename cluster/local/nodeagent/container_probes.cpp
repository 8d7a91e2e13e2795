#include "cluster/local/nodeagent/container_parts.h"

#include <cctype>

namespace cluster::local {

ProbeTarget ContainerRunner::probeTarget()
{
    ProbeTarget target{m_podIp, localAddress(m_podIp), spec().ports, {}};
    target.run = [weak = weak_from_this()](const std::vector<std::string> &command,
                                           const std::function<void(int, std::string)> &done) {
        if (const auto self = weak.lock())
            self->runCommand(command, done);
    };
    return target;
}

void ContainerRunner::startProbes()
{
    if (m_isStopping || m_handlers.started == nullptr)
        return;
    const bool isStarted = m_loops.empty();
    if (isStarted && spec().startup) {
        m_loops.push_back(std::make_unique<ProbeLoop>(m_context.io, "Startup", spec().startup, false));
    } else {
        m_handlers.startupPassed();
        m_loops.clear();
        if (spec().liveness)
            m_loops.push_back(std::make_unique<ProbeLoop>(m_context.io, "Liveness", spec().liveness, true));
        if (spec().readiness)
            m_loops.push_back(
                std::make_unique<ProbeLoop>(m_context.io, "Readiness", spec().readiness, false));
        else
            m_handlers.readyChanged(true);
    }
    for (const auto &loop : m_loops)
        startLoop(*loop, true);
}

void ContainerRunner::startLoop(ProbeLoop &loop, bool isFirst)
{
    // A container that took long to pass its startup probe owes no further delay.
    const int wait = isFirst ? loop.spec->initialDelay : loop.spec->period;
    loop.timer.expires_after(m_context.scaled(wait));
    loop.timer.async_wait([weak = weak_from_this(), &loop](boost::system::error_code error) {
        const auto self = weak.lock();
        if (error || !self || self->m_isStopping)
            return;
        loop.attempt = runProbe(self->m_context.io, loop.spec->action, self->probeTarget(),
                                std::chrono::seconds(loop.spec->timeout), [weak, &loop](ProbeResult result) {
                                    if (const auto runner = weak.lock())
                                        runner->onProbe(loop, result);
                                });
    });
}

void ContainerRunner::onProbe(ProbeLoop &loop, const ProbeResult &result)
{
    const auto self = shared_from_this();
    const std::string name = loop.name;
    if (!result.isSuccess)
        m_handlers.event(EventType::Warning, "Unhealthy", name + " probe failed: " + result.message);
    const bool isNew = loop.tally.add(result.isSuccess);
    const bool verdict = loop.tally.verdict();
    if (isNew && name == "Readiness")
        m_handlers.readyChanged(verdict);
    if (isNew && !verdict && name != "Readiness") {
        failProbe(loop);
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
