#include "cluster/local/nodeagent/pod_status.h"

#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_plan.h"

namespace cluster::local {

using nlohmann::json;

namespace {

json terminatedJson(const ContainerEnd &end)
{
    json state{{"exitCode", end.exitCode},
               {"reason", end.reason},
               {"startedAt", secondsText(end.startedAt)},
               {"finishedAt", secondsText(end.finishedAt)}};
    if (end.signal != 0)
        state["signal"] = end.signal;
    if (!end.message.empty())
        state["message"] = end.message;
    if (!end.containerId.empty())
        state["containerID"] = end.containerId;
    return state;
}

json containerState(const PodSpec &pod, const PodRecord &record, std::size_t index)
{
    const ContainerRecord &container = record.containers[index];
    if (container.phase == ContainerPhase::Running)
        return {{"running", {{"startedAt", secondsText(container.startedAt)}}}};
    if (container.phase == ContainerPhase::Ended)
        return {{"terminated", terminatedJson(*container.end)}};
    json waiting{{"reason", waitingReason(pod, record, index)}};
    if (!container.waitingMessage.empty())
        waiting["message"] = container.waitingMessage;
    return {{"waiting", std::move(waiting)}};
}

json containerStatus(const PodSpec &pod, const PodRecord &record, std::size_t index)
{
    const ContainerSpec &spec = pod.containers[index];
    const ContainerRecord &container = record.containers[index];
    const bool runs = container.phase == ContainerPhase::Running;
    const bool hasSucceeded = spec.role == ContainerRole::Init && container.end
        && container.phase == ContainerPhase::Ended && container.end->exitCode == 0;
    json status{{"name", spec.name},
                {"image", spec.image},
                {"imageID", ""},
                {"restartCount", container.restarts},
                {"ready", runs ? container.isReady && spec.role != ContainerRole::Ephemeral : hasSucceeded},
                {"started", runs && container.isStarted},
                {"state", containerState(pod, record, index)},
                {"lastState", json::object()}};
    if (container.hasRun) {
        // No registry was asked: the name itself is all the identity there is.
        status["imageID"] = spec.image;
        status["containerID"] = container.containerId;
    }
    const auto &last = container.phase == ContainerPhase::Ended ? container.previousEnd : container.end;
    const auto &shown = last ? last : container.previousEnd;
    if (shown)
        status["lastState"]["terminated"] = terminatedJson(*shown);
    return status;
}

std::string join(const std::vector<std::string> &names)
{
    std::string text = "[";
    for (const std::string &name : names)
        text += (text.size() > 1 ? " " : "") + name;
    return text + "]";
}

class Conditions
{
public:
    Conditions(PodRecord &record, Time now) : m_record(record), m_now(now) {}

    void add(ConditionKind kind, const char *type, bool isTrue, const std::string &reason = {},
             const std::string &message = {})
    {
        auto &known = m_record.conditions[static_cast<std::size_t>(kind)];
        if (!known || known->isTrue != isTrue)
            known = PodRecord::Condition{isTrue, m_now};
        json condition{{"type", type},
                       {"status", isTrue ? "True" : "False"},
                       {"lastProbeTime", nullptr},
                       {"lastTransitionTime", secondsText(known->since)},
                       {"reason", nullptr},
                       {"message", nullptr}};
        if (!isTrue && !reason.empty())
            condition["reason"] = reason;
        if (!isTrue && !message.empty())
            condition["message"] = message;
        list.push_back(std::move(condition));
    }

    json list = json::array();

private:
    PodRecord &m_record;
    Time m_now;
};

/// \param phase  As podPhase().
json conditionsJson(const PodSpec &pod, PodRecord &record, const std::string &phase, Time now)
{
    std::vector<std::string> unready, incomplete;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const ContainerRecord &container = record.containers[i];
        const bool runs = container.phase == ContainerPhase::Running;
        const ContainerRole role = pod.containers[i].role;
        if (role == ContainerRole::Ephemeral)
            continue;
        const bool hasSucceeded = container.end && container.end->exitCode == 0;
        if (role == ContainerRole::Init ? !hasSucceeded || container.phase != ContainerPhase::Ended
                                        : role == ContainerRole::Sidecar && !(runs && container.isStarted))
            incomplete.push_back(pod.containers[i].name);
        if (role != ContainerRole::Init && !(runs && container.isReady))
            unready.push_back(pod.containers[i].name);
    }
    const bool isOver = phase == "Succeeded" || phase == "Failed";
    const bool initialized = isInitialized(pod, record) || phase == "Succeeded";
    const std::string message = unready.empty() ? "" : "containers with unready status: " + join(unready);
    std::string reason = isOver && phase == "Failed" ? "PodFailed" : "ContainersNotReady";
    if (phase == "Succeeded")
        reason = "PodCompleted";
    const bool allReady = !isOver && unready.empty() && initialized;
    Conditions conditions(record, now);
    conditions.add(ConditionKind::ReadyToStart, "PodReadyToStartContainers",
                   record.sandbox == SandboxState::Ready && !record.isTornDown);
    conditions.add(ConditionKind::Initialized, "Initialized", initialized, "ContainersNotInitialized",
                   incomplete.empty() ? "" : "containers with incomplete status: " + join(incomplete));
    conditions.add(ConditionKind::Ready, "Ready", allReady, reason, isOver ? "" : message);
    conditions.add(ConditionKind::ContainersReady, "ContainersReady", allReady, reason,
                   isOver ? "" : message);
    if (isOver && record.verdict && record.verdict->isDisruption)
        conditions.list.push_back({{"type", "DisruptionTarget"},
                                   {"status", "True"},
                                   {"lastProbeTime", nullptr},
                                   {"lastTransitionTime", secondsText(record.verdict->since)},
                                   {"reason", "TerminationByKubelet"},
                                   {"message", record.verdict->message}});
    return std::move(conditions.list);
}

struct Tally
{
    int waiting = 0, running = 0, stopped = 0, succeeded = 0;
    bool initPending = false, initFailed = false;
};

Tally tally(const PodSpec &pod, const PodRecord &record)
{
    Tally sum;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const ContainerRecord &container = record.containers[i];
        const bool isEnded = container.phase == ContainerPhase::Ended;
        if (pod.containers[i].role == ContainerRole::Ephemeral)
            continue;
        if (pod.containers[i].role == ContainerRole::Sidecar) {
            sum.initPending = sum.initPending || (!isEnded && !(container.hasRun && container.isStarted));
        } else if (pod.containers[i].role == ContainerRole::Init) {
            const bool hasFailed = container.end && container.end->exitCode != 0;
            sum.initFailed = sum.initFailed || (hasFailed && container.phase != ContainerPhase::Running);
            sum.initPending = sum.initPending || (!isEnded && !hasFailed);
        } else if (container.phase == ContainerPhase::Running) {
            ++sum.running;
        } else if (isEnded || container.end) {
            ++sum.stopped;
            sum.succeeded += isEnded && container.end->exitCode == 0 ? 1 : 0;
        } else {
            ++sum.waiting;
        }
    }
    return sum;
}

std::optional<ContainerEnd> endFromJson(const json &state)
{
    const json &terminated = fieldOf(state, "terminated");
    if (!terminated.is_object())
        return std::nullopt;
    ContainerEnd end;
    end.exitCode = static_cast<int>(numberOf(terminated, "exitCode"));
    end.signal = static_cast<int>(numberOf(terminated, "signal"));
    end.reason = textOf(terminated, "reason");
    end.message = textOf(terminated, "message");
    end.startedAt = parseTime(textOf(terminated, "startedAt")).value_or(Time{});
    end.finishedAt = parseTime(textOf(terminated, "finishedAt")).value_or(Time{});
    end.containerId = textOf(terminated, "containerID");
    return end;
}

ContainerRecord containerFromStatus(const json &status, Time now, bool isSimulated)
{
    ContainerRecord container;
    container.restarts = static_cast<int>(numberOf(status, "restartCount"));
    container.containerId = textOf(status, "containerID");
    container.hasRun = !container.containerId.empty();
    container.previousEnd = endFromJson(fieldOf(status, "lastState"));
    if (auto end = endFromJson(fieldOf(status, "state"))) {
        container.phase = ContainerPhase::Ended;
        container.end = std::move(end);
        return container;
    }
    const json &running = fieldOf(fieldOf(status, "state"), "running");
    if (!running.is_object()) {
        container.end = container.previousEnd;
        container.previousEnd.reset();
        return container;
    }
    container.startedAt = parseTime(textOf(running, "startedAt")).value_or(now);
    if (isSimulated) {
        container.phase = ContainerPhase::Running;
        container.isReady = flagOf(status, "ready");
        container.isStarted = flagOf(status, "started");
        return container;
    }
    // What a container runtime says of containers that a restart of the machine has taken.
    ContainerEnd lost{255, 0, "Unknown", "", container.startedAt, now, container.containerId};
    noteEnd(container, std::move(lost));
    return container;
}

} // namespace

std::string waitingReason(const PodSpec &pod, const PodRecord &record, std::size_t container)
{
    const ContainerRecord &asked = record.containers[container];
    if (asked.phase == ContainerPhase::Running || asked.phase == ContainerPhase::Ended)
        return {};
    if (!asked.waitingReason.empty())
        return asked.waitingReason;
    const bool hasInit = !pod.containers.empty() && pod.containers.front().role != ContainerRole::Main;
    return hasInit && !isInitialized(pod, record) ? "PodInitializing" : "ContainerCreating";
}

std::string podPhase(const PodSpec &pod, const PodRecord &record)
{
    const Tally sum = tally(pod, record);
    // A verdict is told when nothing runs any more, as kubelet does it.
    if (record.verdict && (record.verdict->isKnown || isIdle(record)))
        return "Failed";
    if (sum.initFailed && pod.restartPolicy == RestartPolicy::Never)
        return "Failed";
    if (sum.initPending || sum.initFailed || sum.waiting > 0) {
        // A pod that is being taken away before it ran has failed once nothing is left of it.
        return pod.deletionGrace && record.isTornDown ? "Failed" : "Pending";
    }
    if (sum.running > 0)
        return "Running";
    const bool isOver = record.isTornDown || (pod.deletionGrace && isIdle(record));
    if (!isOver && pod.restartPolicy == RestartPolicy::Always)
        return "Running";
    if (sum.stopped == sum.succeeded)
        return "Succeeded";
    return isOver || pod.restartPolicy == RestartPolicy::Never ? "Failed" : "Running";
}

json podStatus(const PodSpec &pod, PodRecord &record, Time now)
{
    const std::string phase = podPhase(pod, record);
    json status{{"phase", phase}, {"startTime", secondsText(record.startTime)}};
    status["conditions"] = conditionsJson(pod, record, phase, now);
    json inits = json::array(), mains = json::array(), ephemerals = json::array();
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
        const ContainerRole role = pod.containers[i].role;
        json &list = role == ContainerRole::Main ? mains
            : role == ContainerRole::Ephemeral   ? ephemerals
                                                 : inits;
        list.push_back(containerStatus(pod, record, i));
    }
    status["containerStatuses"] = std::move(mains);
    if (!inits.empty())
        status["initContainerStatuses"] = std::move(inits);
    if (!ephemerals.empty())
        status["ephemeralContainerStatuses"] = std::move(ephemerals);
    if (!record.hostIp.empty()) {
        status["hostIP"] = record.hostIp;
        status["hostIPs"] = json::array({{{"ip", record.hostIp}}});
    }
    if (!record.podIp.empty()) {
        status["podIP"] = record.podIp;
        status["podIPs"] = json::array({{{"ip", record.podIp}}});
    }
    if (record.verdict && phase == "Failed") {
        status["reason"] = record.verdict->reason;
        status["message"] = record.verdict->message;
    }
    return status;
}

PodRecord recordFromStatus(const PodSpec &pod, Time now, bool areSimulated)
{
    PodRecord record;
    record.containers.resize(pod.containers.size());
    record.startTime = now;
    const json &status = fieldOf(*pod.object, "status");
    if (const auto started = parseTime(textOf(status, "startTime")))
        record.startTime = *started;
    record.podIp = textOf(status, "podIP");
    const std::string phase = textOf(status, "phase");
    if (phase == "Succeeded" || phase == "Failed")
        record.isTornDown = true;
    for (const char *list : {"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}) {
        for (const json &entry : itemsOf(status, list)) {
            for (std::size_t i = 0; i < pod.containers.size(); ++i) {
                if (pod.containers[i].name == textOf(entry, "name"))
                    record.containers[i] = containerFromStatus(entry, now, areSimulated);
            }
        }
    }
    for (const json &condition : itemsOf(status, "conditions")) {
        static constexpr std::pair<std::string_view, ConditionKind> kinds[] = {
            {"PodReadyToStartContainers", ConditionKind::ReadyToStart},
            {"Initialized", ConditionKind::Initialized},
            {"Ready", ConditionKind::Ready},
            {"ContainersReady", ConditionKind::ContainersReady},
        };
        for (const auto &[type, kind] : kinds) {
            if (type == textOf(condition, "type"))
                record.conditions[static_cast<std::size_t>(kind)]
                    = PodRecord::Condition{textOf(condition, "status") == "True",
                                           parseTime(textOf(condition, "lastTransitionTime")).value_or(now)};
        }
    }
    if (areSimulated && !record.podIp.empty())
        record.sandbox = SandboxState::Ready;
    return record;
}

} // namespace cluster::local
