#include "cluster/local/tpuwebhook/pod_mutation.h"

#include "cluster/local/nodes/json_access.h"
#include "cluster/local/tpuwebhook/tpu_demand.h"
#include "cluster/local/tpuwebhook/worker_environment.h"

#include <cctype>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

constexpr std::size_t longestCheckedName = 50;
constexpr const char *nodePoolKey = "cloud.google.com/gke-nodepool";

/// The label by which the pods of one slice find each other: KubeRay's where its labels tell the place, else
/// the webhook's own.
struct SliceLabel
{
    std::string key;
    std::string value;
};

Json expression(const std::string &key, const char *anOperator, const std::string &value)
{
    return {{"key", key}, {"operator", anOperator}, {"values", Json::array({value})}};
}

Json term(Json expressions)
{
    return {{"labelSelector", {{"matchExpressions", std::move(expressions)}}}, {"topologyKey", nodePoolKey}};
}

/// A slice's pods share one node pool, and nobody else's of this or another Ray cluster is in it.
Json sliceAffinity(const std::string &cluster, const SliceLabel &slice)
{
    const char *clusterKey = "ray.io/cluster";
    Json others = term(Json::array(
        {expression(clusterKey, "NotIn", cluster), {{"key", slice.key}, {"operator", "Exists"}}}));
    others["namespaceSelector"]["matchExpressions"]
        = Json::array({expression("kubernetes.io/metadata.name", "NotIn", "kube-system")});
    const char *required = "requiredDuringSchedulingIgnoredDuringExecution";
    return {{"podAffinity",
             {{required,
               Json::array({term(Json::array(
                   {expression(slice.key, "In", slice.value), expression(clusterKey, "In", cluster)}))})}}},
            {"podAntiAffinity",
             {{required,
               Json::array({term(Json::array({expression(slice.key, "NotIn", slice.value),
                                              expression(clusterKey, "In", cluster)})),
                            std::move(others)})}}}};
}

Json add(const std::string &path, Json value)
{
    return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}

Result<RayGroup> groupOf(const Json &pod, const std::string &nameSpace)
{
    const Json &labels = at(at(pod, "metadata"), "labels");
    RayGroup group{nameSpace, text(labels, "ray.io/cluster"), text(labels, "ray.io/group")};
    if (group.cluster.empty())
        return fail(ErrorCode::InvalidArgument, "Ray Pod created by KubeRay missing RayCluster label");
    if (group.group.empty())
        return fail(ErrorCode::InvalidArgument, "Ray Pod created by KubeRay missing Group label");
    return group;
}

Result<SlicePlace> placeInGroup(const RayGroup &group, long hosts, const PodsOfGroup &podsOf)
{
    const auto pods = podsOf(group);
    if (!pods)
        return tl::unexpected(pods.error());
    const auto places = placesOfAdmitted(*pods);
    if (!places)
        return tl::unexpected(places.error());
    return placeAmong(*places, hosts);
}

void appendEnvironment(Json &patch, const Json &spec, const TpuDemand &demand, const WorkerPlace &place)
{
    for (std::size_t number = 0; number < demand.containers.size(); ++number) {
        const std::size_t index = demand.containers[number];
        const Json &container = at(spec, "containers").at(index);
        const std::string path = "/spec/containers/" + std::to_string(index) + "/env";
        if (!at(container, "env").is_array())
            patch.push_back(add(path, Json::array()));
        for (Json &variable : workerVariables(container, static_cast<long>(number), place))
            patch.push_back(add(path + "/-", std::move(variable)));
    }
}

} // namespace

std::string headlessServiceName(const std::string &cluster)
{
    std::string name = cluster + "-headless";
    if (name.size() > longestCheckedName)
        name.erase(0, name.size() - longestCheckedName);
    const auto first = static_cast<unsigned char>(name.front());
    if (std::isdigit(first) != 0 || std::ispunct(first) != 0)
        name.front() = 'r';
    return name;
}

Result<Json> tpuPodPatch(const Json &pod, const std::string &nameSpace, const PodsOfGroup &podsOf)
{
    Json patch = Json::array();
    const Json &spec = at(pod, "spec");
    const TpuDemand demand = tpuDemand(spec);
    if (demand.isEmpty())
        return patch;
    const auto group = groupOf(pod, nameSpace);
    if (!group)
        return tl::unexpected(group.error());
    const std::string topology = tpuTopology(spec);
    if (topology.empty())
        return fail(ErrorCode::InvalidArgument,
                    "Ray Pod created by KubeRay missing TPU topology nodeSelector");
    const auto hosts = hostsOfSlice(topology, demand.chipsPerHost);
    if (!hosts)
        return tl::unexpected(hosts.error());

    const auto told = placeByLabels(pod);
    const auto place = told ? Result<SlicePlace>(*told) : placeInGroup(*group, *hosts, podsOf);
    if (!place)
        return tl::unexpected(place.error());
    const std::string slice = group->group + "-" + std::to_string(place->replica);
    const char *nameKey = "ray.io/worker-group-replica-name";
    const SliceLabel label = told ? SliceLabel{nameKey, text(at(at(pod, "metadata"), "labels"), nameKey)}
                                  : SliceLabel{"replicaIndex", slice};
    if (!told)
        patch.push_back(add("/metadata/labels/replicaIndex", slice));
    const std::string headless = headlessServiceName(group->cluster);
    if (*hosts > 1) {
        patch.push_back(add("/spec/hostname", slice + "-" + std::to_string(place->host)));
        patch.push_back(add("/spec/subdomain", headless));
        patch.push_back(add("/spec/affinity", sliceAffinity(group->cluster, label)));
    }
    appendEnvironment(
        patch, spec, demand,
        {*place, group->group, headless, *hosts, static_cast<long>(demand.containers.size()), demand.isV7x});
    return patch;
}

} // namespace cluster::local
