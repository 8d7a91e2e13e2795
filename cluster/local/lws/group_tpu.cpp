#include "cluster/local/lws/group_tpu.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_objects.h"
#include "cluster/local/lws/lws_spec.h"
#include "cluster/local/nodes/json_access.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::int64_t firstPort = 8476;
constexpr std::int64_t mostHosts = 1 << 16; // more makes no environment that a container takes

std::optional<std::string> variableOf(const Json &container, const std::string &name)
{
    for (const Json &variable : at(container, "env")) {
        if (text(variable, "name") == name)
            return text(variable, "value");
    }
    return std::nullopt;
}

std::vector<Json *> tpuContainers(Json &spec)
{
    std::vector<Json *> found;
    for (const char *list : {"containers", "initContainers"}) {
        if (!at(spec, list).is_array())
            continue;
        for (Json &container : spec[list]) {
            if (containerRequestsTpus(container))
                found.push_back(&container);
        }
    }
    return found;
}

std::string joined(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : ",") + word;
    return text;
}

/// The pod among its group's, as the variables tell it.
struct TpuGroup
{
    std::string leader; ///< pod
    std::string subdomain;
    std::int64_t index = 0; ///< of the pod, 0 the leader
    bool leaderHasTpus = false;

    [[nodiscard]] std::string leaderHost() const { return leader + "." + subdomain; }
    [[nodiscard]] std::string workerHost(std::int64_t worker) const
    {
        return leader + "-" + std::to_string(worker) + "." + subdomain;
    }
};

TpuGroup groupOf(const Json &pod)
{
    const std::string name = text(at(pod, "metadata"), "name");
    TpuGroup group{name, text(at(pod, "spec"), "subdomain"), 0, true};
    if (labelOf(pod, lws_keys::workerIndex) == "0")
        return group;
    const PodOrdinal place = podOrdinal(name);
    group.leader = place.parent;
    group.index = place.ordinal;
    group.leaderHasTpus = annotationOf(pod, lws_keys::leaderRequestsTpus) == "true";
    return group;
}

/// Hosts of the pod's subgroup and its number among them. Where the leader has TPUs it is the first of
/// subgroup 0, and all others move up by one.
struct TpuPart
{
    std::vector<std::string> hosts;
    std::int64_t id = 0;
};

TpuPart partOf(const Json &pod, const TpuGroup &group, std::int64_t partSize)
{
    std::int64_t part = integerOf(at(at(pod, "metadata"), "labels"), lws_keys::subGroupIndex);
    TpuPart place;
    place.id = group.index % partSize;
    if (group.index != 0 && !group.leaderHasTpus) {
        place.id = (group.index - 1) % partSize;
        part = (group.index - 1) / partSize;
    }
    std::int64_t first = partSize * part + 1, last = partSize * (part + 1);
    if (group.leaderHasTpus) {
        --last;
        if (part == 0 || group.index == 0)
            place.hosts.push_back(group.leaderHost());
        else
            --first;
    }
    for (std::int64_t worker = first; worker <= last; ++worker)
        place.hosts.push_back(group.workerHost(worker));
    return place;
}

struct TpuWorker
{
    std::string hosts, addresses;
    std::int64_t id = 0;
    std::string port;
};

void append(Json &container, const TpuGroup &group, const TpuWorker &worker)
{
    if (!at(container, "env").is_array())
        container["env"] = Json::array();
    const bool hasPort = variableOf(container, "TPU_PROCESS_PORT").has_value();
    const auto add = [&](const char *name, const std::string &value) {
        container["env"].push_back({{"name", name}, {"value", value}});
    };
    add("TPU_WORKER_HOSTNAMES", worker.hosts);
    add("TPU_WORKER_ID", std::to_string(worker.id));
    add("TPU_NAME", group.leader);
    add("TPU_PROCESS_ADDRESSES", worker.addresses);
    if (!hasPort)
        add("TPU_PROCESS_PORT", worker.port);
}

std::string portOf(const Json &container, std::int64_t number)
{
    return variableOf(container, "TPU_PROCESS_PORT").value_or(std::to_string(firstPort + number));
}

void addToPart(const Json &pod, const TpuGroup &group, Json &container, std::int64_t partSize)
{
    const std::string port = portOf(container, 0);
    const TpuPart part = partOf(pod, group, partSize);
    std::vector<std::string> addresses;
    for (const std::string &host : part.hosts)
        addresses.push_back(host + ":" + port);
    append(container, group, {joined(part.hosts), joined(addresses), part.id, port});
}

void addToGroup(const TpuGroup &group, const std::vector<Json *> &containers, std::int64_t size)
{
    std::vector<std::string> ports, hosts, addresses;
    for (std::size_t i = 0; i < containers.size(); ++i)
        ports.push_back(portOf(*containers[i], static_cast<std::int64_t>(i)));
    const auto addHost = [&](const std::string &host) {
        for (const std::string &port : ports) {
            hosts.push_back(host);
            addresses.push_back(host + ":" + port);
        }
    };
    if (group.leaderHasTpus)
        addHost(group.leaderHost());
    for (std::int64_t worker = 1; worker < size; ++worker)
        addHost(group.workerHost(worker));
    const std::int64_t first = (group.leaderHasTpus ? group.index : group.index - 1)
        * static_cast<std::int64_t>(containers.size());
    for (std::size_t i = 0; i < containers.size(); ++i)
        append(*containers[i], group,
               {joined(hosts), joined(addresses), first + static_cast<std::int64_t>(i), ports[i]});
}

} // namespace

void addTpuVariables(Json &pod, std::int64_t size)
{
    const std::vector<Json *> containers = tpuContainers(pod["spec"]);
    if (containers.empty() || variableOf(*containers.front(), "TPU_WORKER_HOSTNAMES")
        || variableOf(*containers.front(), "TPU_WORKER_ID"))
        return;
    const TpuGroup group = groupOf(pod);
    const Json &annotations = at(at(pod, "metadata"), "annotations");
    const bool isInParts = at(annotations, lws_keys::subGroupSize).is_string();
    const std::int64_t partSize = integerOf(annotations, lws_keys::subGroupSize);
    if (isInParts && partSize > 0 && partSize <= mostHosts)
        addToPart(pod, group, *containers.front(), partSize);
    else if (!isInParts && size <= mostHosts)
        addToGroup(group, containers, size);
}

} // namespace cluster::local
