#include "cluster/local/nodeagent/pod_plan.h"

#include <algorithm>

namespace cluster::local {

namespace {

using Kind = PodAction::Kind;

Time::duration scaled(std::chrono::seconds wait, const BackoffRules &rules)
{
    return std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(wait) / rules.timeScale);
}

bool isActive(const ContainerRecord &container)
{
    return container.phase == ContainerPhase::Running || container.phase == ContainerPhase::Starting;
}

/// Plans one pod; the steps share what they have found out.
class Planner
{
public:
    Planner(const PodSpec &pod, const PodRecord &record, Time now, const BackoffRules &rules)
        : m_pod(pod), m_record(record), m_now(now), m_rules(rules)
    {
    }

    PodPlan plan()
    {
        if (m_record.isTornDown)
            return m_plan;
        if (m_pod.deletionGrace || m_record.verdict) {
            stopAll(graceOf(m_pod, m_record));
        } else if (!isPastDeadline()) {
            if (m_record.sandbox == SandboxState::Ready)
                run();
            else
                prepare();
        }
        return std::move(m_plan);
    }

private:
    void wakeAt(Time time)
    {
        if (!m_plan.wakeAt || time < *m_plan.wakeAt)
            m_plan.wakeAt = time;
    }

    bool isPastDeadline()
    {
        if (!m_pod.activeDeadline)
            return false;
        const Time end = m_record.startTime + scaled(std::chrono::seconds(*m_pod.activeDeadline), m_rules);
        if (m_now >= end)
            m_plan.actions.push_back({Kind::Fail});
        else
            wakeAt(end);
        return m_now >= end;
    }

    void prepare()
    {
        if (m_record.sandbox != SandboxState::None)
            return;
        if (m_now >= m_record.sandboxRetryAt)
            m_plan.actions.push_back({Kind::PrepareSandbox});
        else
            wakeAt(m_record.sandboxRetryAt);
    }

    void stop(std::size_t i, std::int64_t grace)
    {
        if (isActive(m_record.containers[i]) && !m_record.containers[i].isStopping)
            m_plan.actions.push_back({Kind::Stop, i, grace});
    }

    /// Sidecars end after everything else, the last one first.
    void stopAll(std::int64_t grace)
    {
        bool othersRun = false;
        for (std::size_t i = 0; i < m_pod.containers.size(); ++i) {
            if (m_pod.containers[i].role == ContainerRole::Sidecar)
                continue;
            othersRun = othersRun || isActive(m_record.containers[i]);
            stop(i, grace);
        }
        if (!othersRun)
            stopSidecars(grace);
        if (isIdle(m_record) && m_record.sandbox != SandboxState::Preparing)
            m_plan.actions.push_back({Kind::TearDown});
    }

    void stopSidecars(std::int64_t grace)
    {
        for (std::size_t i = m_pod.containers.size(); i-- > 0;) {
            if (m_pod.containers[i].role != ContainerRole::Sidecar || !isActive(m_record.containers[i]))
                continue;
            stop(i, grace);
            return;
        }
    }

    /// Starts a container that isn't running as soon as it may.
    void startWhenDue(std::size_t i)
    {
        const ContainerRecord &container = m_record.containers[i];
        if (isActive(container))
            return;
        if (container.retryAt > m_now) {
            wakeAt(container.retryAt);
            return;
        }
        const auto end = backoffEnd(m_pod, m_pod.containers[i], container, m_now, m_rules);
        if (!end) {
            m_plan.actions.push_back({Kind::Start, i});
            return;
        }
        wakeAt(*end);
        if (container.phase == ContainerPhase::Ended)
            m_plan.actions.push_back({Kind::BackOff, i});
    }

    /// False: the pod isn't initialised, and what is to be done for that has been planned.
    bool runInit()
    {
        for (std::size_t i = 0; i < m_pod.containers.size(); ++i) {
            const ContainerSpec &spec = m_pod.containers[i];
            const ContainerRecord &container = m_record.containers[i];
            if (spec.role == ContainerRole::Main)
                break;
            if (spec.role == ContainerRole::Sidecar) {
                startWhenDue(i);
                if (!container.hasRun || !container.isStarted)
                    return false;
                continue;
            }
            if (container.phase == ContainerPhase::Ended && container.end->exitCode == 0)
                continue;
            if (container.end && !isActive(container) && !isRestarted(m_pod, spec, *container.end))
                m_hasFailed = true;
            else
                startWhenDue(i);
            return false;
        }
        return true;
    }

    void run()
    {
        bool mainsGoOn = true;
        if (runInit()) {
            mainsGoOn = false;
            for (std::size_t i = 0; i < m_pod.containers.size(); ++i) {
                if (m_pod.containers[i].role != ContainerRole::Main)
                    continue;
                const ContainerRecord &container = m_record.containers[i];
                const bool isOver = container.phase == ContainerPhase::Ended
                    && !isRestarted(m_pod, m_pod.containers[i], *container.end);
                mainsGoOn = mainsGoOn || !isOver;
                if (!isOver)
                    startWhenDue(i);
            }
        }
        if (mainsGoOn && !m_hasFailed) {
            startEphemeral();
            return;
        }
        // Everything that counts is over: the sidecars' starts planned above are not wanted any more.
        m_plan = {};
        stopAll(m_pod.grace);
    }

    /// Once each, whatever the others do.
    void startEphemeral()
    {
        for (std::size_t i = 0; i < m_pod.containers.size(); ++i) {
            const bool isNew = m_pod.containers[i].role == ContainerRole::Ephemeral
                && !m_record.containers[i].hasRun && !m_record.containers[i].end;
            if (isNew)
                startWhenDue(i);
        }
    }

    const PodSpec &m_pod;
    const PodRecord &m_record;
    Time m_now;
    const BackoffRules &m_rules;
    PodPlan m_plan;
    bool m_hasFailed = false;
};

} // namespace

PodPlan planPod(const PodSpec &pod, const PodRecord &record, Time now, const BackoffRules &rules)
{
    return Planner(pod, record, now, rules).plan();
}

bool isIdle(const PodRecord &record)
{
    return std::none_of(record.containers.begin(), record.containers.end(), isActive);
}

bool isRestarted(const PodSpec &pod, const ContainerSpec &container, const ContainerEnd &end)
{
    if (container.role == ContainerRole::Sidecar)
        return true;
    if (pod.restartPolicy == RestartPolicy::Never || container.role == ContainerRole::Ephemeral)
        return false;
    const bool hasSucceeded = end.exitCode == 0;
    const bool endsWithSuccess
        = container.role == ContainerRole::Init || pod.restartPolicy == RestartPolicy::OnFailure;
    return !(hasSucceeded && endsWithSuccess);
}

bool isInitialized(const PodSpec &pod, const PodRecord &record)
{
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const ContainerRecord &container = record.containers[i];
        switch (pod.containers[i].role) {
        case ContainerRole::Main:
        case ContainerRole::Ephemeral:
            return true;
        case ContainerRole::Sidecar:
            if (!container.hasRun || !container.isStarted)
                return false;
            break;
        case ContainerRole::Init:
            if (container.phase != ContainerPhase::Ended || container.end->exitCode != 0)
                return false;
            break;
        }
    }
    return true;
}

void noteEnd(ContainerRecord &container, ContainerEnd end)
{
    container.phase = ContainerPhase::Ended;
    container.end = std::move(end);
    container.isReady = false;
    container.isStopping = false;
    container.waitingReason.clear();
    container.waitingMessage.clear();
}

void noteStart(ContainerRecord &container, Time now, const BackoffRules &rules)
{
    if (container.hasRun) {
        ++container.restarts;
        const bool isForgotten = now - container.backoffSet > scaled(2 * rules.longest, rules);
        container.backoff = container.backoff.count() == 0 || isForgotten
            ? rules.first
            : std::min(container.backoff * 2, rules.longest);
        container.backoffSet = now;
    }
    container.previousEnd = container.end ? container.end : container.previousEnd;
    container.end.reset();
    container.hasRun = true;
    container.phase = ContainerPhase::Running;
    container.startedAt = now;
    container.waitingReason.clear();
    container.waitingMessage.clear();
    container.isStopping = false;
}

std::int64_t graceOf(const PodSpec &pod, const PodRecord &record)
{
    const std::int64_t grace = pod.deletionGrace.value_or(pod.grace);
    return record.verdict ? std::min(grace, record.verdict->grace.value_or(grace)) : grace;
}

std::optional<Time> backoffEnd(const PodSpec &pod, const ContainerSpec &container,
                               const ContainerRecord &record, Time now, const BackoffRules &rules)
{
    if (!record.end || record.backoff.count() == 0 || !isRestarted(pod, container, *record.end))
        return std::nullopt;
    if (now - record.backoffSet > scaled(2 * rules.longest, rules))
        return std::nullopt; // forgotten: it ran well for long
    const Time end = record.end->finishedAt + scaled(record.backoff, rules);
    return end > now ? std::optional(end) : std::nullopt;
}

} // namespace cluster::local
