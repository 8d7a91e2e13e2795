#include "cluster/local/nodeagent/pod_spec.h"

#include "cluster/local/nodeagent/json_fields.h"

#include <cstdlib>
#include <string_view>

namespace cluster::local {

using nlohmann::json;

namespace {

/// IntOrString as text.
std::string portText(const json &action)
{
    const json &port = fieldOf(action, "port");
    return port.is_number() ? std::to_string(port.get<std::int64_t>()) : textOf(action, "port");
}

ProbeAction parseAction(const json &object)
{
    ProbeAction action;
    if (const json &exec = fieldOf(object, "exec"); exec.is_object()) {
        action.kind = ProbeAction::Kind::Exec;
        action.command = textsOf(exec, "command");
    } else if (const json &get = fieldOf(object, "httpGet"); get.is_object()) {
        action.kind = ProbeAction::Kind::HttpGet;
        action.scheme = textOf(get, "scheme", "HTTP");
        action.host = textOf(get, "host");
        action.port = portText(get);
        action.path = textOf(get, "path", "/");
        for (const json &header : itemsOf(get, "httpHeaders"))
            action.headers.emplace_back(textOf(header, "name"), textOf(header, "value"));
    } else if (const json &tcp = fieldOf(object, "tcpSocket"); tcp.is_object()) {
        action.kind = ProbeAction::Kind::TcpSocket;
        action.host = textOf(tcp, "host");
        action.port = portText(tcp);
    } else if (const json &grpc = fieldOf(object, "grpc"); grpc.is_object()) {
        action.kind = ProbeAction::Kind::Grpc;
        action.port = portText(grpc);
        action.service = textOf(grpc, "service");
    } else if (const json &sleep = fieldOf(object, "sleep"); sleep.is_object()) {
        action.kind = ProbeAction::Kind::Sleep;
        action.seconds = numberOf(sleep, "seconds");
    }
    return action;
}

std::shared_ptr<const ProbeSpec> parseProbe(const json &object)
{
    if (!object.is_object())
        return nullptr;
    auto probe = std::make_shared<ProbeSpec>();
    probe->action = parseAction(object);
    const auto whole = [&object](const char *name, int fallback) {
        const auto value = static_cast<int>(numberOf(object, name, fallback));
        return value > 0 ? value : fallback;
    };
    probe->initialDelay = whole("initialDelaySeconds", 0);
    probe->timeout = whole("timeoutSeconds", 1);
    probe->period = whole("periodSeconds", 10);
    probe->successThreshold = whole("successThreshold", 1);
    probe->failureThreshold = whole("failureThreshold", 3);
    if (fieldOf(object, "terminationGracePeriodSeconds").is_number())
        probe->graceSeconds = static_cast<int>(numberOf(object, "terminationGracePeriodSeconds"));
    return probe;
}

std::shared_ptr<const ProbeAction> parseHook(const json &object)
{
    return object.is_object() ? std::make_shared<ProbeAction>(parseAction(object)) : nullptr;
}

PullPolicy parsePullPolicy(const std::string &text)
{
    if (text == "Always")
        return PullPolicy::Always;
    return text == "Never" ? PullPolicy::Never : PullPolicy::IfNotPresent;
}

ContainerSpec parseContainer(const json &object, ContainerRole role)
{
    ContainerSpec container;
    container.name = textOf(object, "name");
    container.image = textOf(object, "image");
    container.role = role;
    if (role == ContainerRole::Init && textOf(object, "restartPolicy") == "Always")
        container.role = ContainerRole::Sidecar;
    container.command = textsOf(object, "command");
    container.args = textsOf(object, "args");
    container.workingDir = textOf(object, "workingDir");
    for (const json &port : itemsOf(object, "ports"))
        container.ports.emplace_back(textOf(port, "name"), static_cast<int>(numberOf(port, "containerPort")));
    container.startup = parseProbe(fieldOf(object, "startupProbe"));
    container.liveness = parseProbe(fieldOf(object, "livenessProbe"));
    container.readiness = parseProbe(fieldOf(object, "readinessProbe"));
    const json &lifecycle = fieldOf(object, "lifecycle");
    container.postStart = parseHook(fieldOf(lifecycle, "postStart"));
    container.preStop = parseHook(fieldOf(lifecycle, "preStop"));
    const json &resources = fieldOf(object, "resources");
    const auto amount = [&resources](const char *list, const char *name) {
        return parseQuantity(fieldOf(fieldOf(resources, list), name)).value_or(0);
    };
    container.memoryLimit = static_cast<std::int64_t>(amount("limits", "memory"));
    container.cpuLimit = amount("limits", "cpu");
    container.cpuRequest = amount("requests", "cpu");
    container.pullPolicy = parsePullPolicy(textOf(object, "imagePullPolicy"));
    container.target = textOf(object, "targetContainerName");
    container.messagePath = textOf(object, "terminationMessagePath");
    container.logIsMessage = textOf(object, "terminationMessagePolicy") == "FallbackToLogsOnError";
    container.hasStdin = flagOf(object, "stdin");
    container.stdinOnce = flagOf(object, "stdinOnce");
    container.tty = flagOf(object, "tty");
    return container;
}

RestartPolicy parsePolicy(const std::string &text)
{
    if (text == "Never")
        return RestartPolicy::Never;
    return text == "OnFailure" ? RestartPolicy::OnFailure : RestartPolicy::Always;
}

void keepOnly(json &object, std::initializer_list<std::string_view> names)
{
    if (!object.is_object())
        return;
    json kept = json::object();
    for (const std::string_view name : names) {
        if (const auto found = object.find(name); found != object.end())
            kept[std::string(name)] = std::move(*found);
    }
    object = std::move(kept);
}

} // namespace

const char *listOf(ContainerRole role)
{
    if (role == ContainerRole::Ephemeral)
        return "ephemeralContainers";
    return role == ContainerRole::Main ? "containers" : "initContainers";
}

std::optional<double> parseQuantity(const json &quantity)
{
    if (quantity.is_number())
        return quantity.get<double>();
    if (!quantity.is_string())
        return std::nullopt;
    const std::string &text = quantity.get_ref<const std::string &>();
    char *end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end == text.c_str())
        return std::nullopt;
    static constexpr std::pair<std::string_view, double> units[] = {
        {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},    {"k", 1e3},
        {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"Ki", 1024.0},
        {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50},
    };
    for (const auto &[unit, factor] : units) {
        if (unit == end)
            return number * factor;
    }
    return std::nullopt;
}

PodSpec parsePod(std::shared_ptr<const json> object)
{
    PodSpec pod;
    const json &metadata = fieldOf(*object, "metadata");
    const json &spec = fieldOf(*object, "spec");
    pod.nameSpace = textOf(metadata, "namespace");
    pod.name = textOf(metadata, "name");
    pod.uid = textOf(metadata, "uid");
    pod.node = textOf(spec, "nodeName");
    for (const json &container : itemsOf(spec, "initContainers"))
        pod.containers.push_back(parseContainer(container, ContainerRole::Init));
    for (const json &container : itemsOf(spec, "containers"))
        pod.containers.push_back(parseContainer(container, ContainerRole::Main));
    for (const json &container : itemsOf(spec, "ephemeralContainers"))
        pod.containers.push_back(parseContainer(container, ContainerRole::Ephemeral));
    pod.restartPolicy = parsePolicy(textOf(spec, "restartPolicy"));
    if (fieldOf(spec, "activeDeadlineSeconds").is_number())
        pod.activeDeadline = numberOf(spec, "activeDeadlineSeconds");
    pod.grace = numberOf(spec, "terminationGracePeriodSeconds", 30);
    if (fieldOf(metadata, "deletionTimestamp").is_string())
        pod.deletionGrace = numberOf(metadata, "deletionGracePeriodSeconds", pod.grace);
    pod.priority = static_cast<std::int32_t>(numberOf(spec, "priority"));
    pod.hostNetwork = flagOf(spec, "hostNetwork");
    for (const json &owner : itemsOf(metadata, "ownerReferences"))
        pod.isOfJob = pod.isOfJob || (flagOf(owner, "controller") && textOf(owner, "kind") == "Job");
    pod.runtime = textOf(fieldOf(metadata, "annotations"), "slipway.dev/runtime");
    pod.object = std::move(object);
    return pod;
}

void pruneSimulatedPod(json &pod)
{
    keepOnly(pod, {"metadata", "spec", "status"});
    if (!pod.is_object())
        return;
    json &metadata = pod["metadata"];
    keepOnly(metadata,
             {"name", "namespace", "uid", "annotations", "deletionTimestamp", "deletionGracePeriodSeconds",
              "ownerReferences", "resourceVersion"});
    if (metadata.contains("annotations"))
        keepOnly(metadata["annotations"],
                 {"slipway.dev/runtime", "slipway.dev/stand-in", "slipway.dev/run-seconds",
                  "slipway.dev/exit-code"});
    if (metadata.contains("ownerReferences") && metadata["ownerReferences"].is_array()) {
        for (json &owner : metadata["ownerReferences"])
            keepOnly(owner, {"kind", "controller"});
    }
    json &spec = pod["spec"];
    if (numberOf(spec, "priority") < criticalPriority && spec.is_object())
        spec.erase("priority"); // of nearly all: not worth their memory
    keepOnly(spec,
             {"nodeName", "containers", "initContainers", "ephemeralContainers", "restartPolicy",
              "activeDeadlineSeconds", "terminationGracePeriodSeconds", "hostNetwork", "resourceClaims",
              "priority"});
    for (const char *list : {"containers", "initContainers", "ephemeralContainers"}) {
        if (!spec.is_object() || !spec.contains(list) || !spec[list].is_array())
            continue;
        for (json &container : spec[list])
            keepOnly(container, {"name", "image", "restartPolicy"});
    }
    if (!pod.contains("status"))
        return;
    const auto keepOfEach
        = [&status = pod["status"]](const char *list, std::initializer_list<std::string_view> names) {
              if (!status.is_object() || !status.contains(list) || !status[list].is_array())
                  return;
              for (json &item : status[list])
                  keepOnly(item, names);
          };
    keepOfEach("conditions", {"type", "status", "lastTransitionTime"});
    for (const char *list : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"})
        keepOfEach(list, {"name", "containerID", "restartCount", "ready", "started", "state"});
    keepOnly(pod["status"],
             {"phase", "podIP", "hostIP", "startTime", "conditions", "containerStatuses",
              "initContainerStatuses", "ephemeralContainerStatuses", "resourceClaimStatuses"});
}

} // namespace cluster::local
