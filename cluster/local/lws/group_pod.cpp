#include "cluster/local/lws/group_pod.h"

#include "cluster/local/lws/group_tpu.h"
#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_objects.h"
#include "cluster/local/lws/lws_spec.h"
#include "cluster/local/nodes/json_access.h"

#include <array>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr const char *required = "requiredDuringSchedulingIgnoredDuringExecution";

bool hasTerm(const Json &affinity, const char *kind, const std::string &topology)
{
    for (const Json &term : at(at(affinity, kind), required)) {
        if (text(term, "topologyKey") == topology)
            return true;
    }
    return false;
}

/// The group's pods share one domain of the topology, and nobody else's group is in it. Behind the user's own
/// terms; not where both kinds of them name this topology already.
void addExclusivePlacement(Json &spec, const std::string &label, const std::string &group,
                           const std::string &topology)
{
    Json affinity = at(spec, "affinity").is_object() ? spec["affinity"] : Json::object();
    if (hasTerm(affinity, "podAffinity", topology) && hasTerm(affinity, "podAntiAffinity", topology))
        return;
    const auto add = [&](const char *kind, Json expressions) {
        if (!at(affinity, kind).is_object())
            affinity[kind] = Json::object();
        Json &terms = affinity[kind][required];
        if (!terms.is_array())
            terms = Json::array();
        terms.push_back(
            {{"labelSelector", {{"matchExpressions", std::move(expressions)}}}, {"topologyKey", topology}});
    };
    add("podAffinity", Json::array({{{"key", label}, {"operator", "In"}, {"values", Json::array({group})}}}));
    add("podAntiAffinity",
        Json::array({{{"key", label}, {"operator", "Exists"}},
                     {{"key", label}, {"operator", "NotIn"}, {"values", Json::array({group})}}}));
    spec["affinity"] = std::move(affinity);
}

void addSubGroup(Json &pod, const std::string &leader, const std::string &index)
{
    const std::string key = groupKeyOf(leader, index);
    pod["metadata"]["labels"][lws_keys::subGroupIndex] = index;
    pod["metadata"]["labels"][lws_keys::subGroupKey] = key;
    if (const std::string topology = annotationOf(pod, lws_keys::subGroupTopology); !topology.empty())
        addExclusivePlacement(pod["spec"], lws_keys::subGroupKey, key, topology);
}

tl::unexpected<Error> noOrdinal(const std::string &name)
{
    return fail(ErrorCode::InvalidArgument, "parsing pod ordinal for pod " + name);
}

Status placeLeader(Json &pod, const std::string &nameSpace)
{
    const std::string name = text(at(pod, "metadata"), "name");
    Json &labels = pod["metadata"]["labels"];
    if (!labels.contains(lws_keys::groupIndex)) {
        const PodOrdinal place = podOrdinal(name);
        if (place.ordinal < 0)
            return noOrdinal(name);
        labels[lws_keys::groupIndex] = std::to_string(place.ordinal);
    }
    if (annotationOf(pod, lws_keys::subdomainPolicy) == "UniquePerReplica")
        pod["spec"]["subdomain"] = name;
    if (!labels.contains(lws_keys::groupKey))
        labels[lws_keys::groupKey] = groupKeyOf(nameSpace, name);
    if (const std::string topology = annotationOf(pod, lws_keys::exclusiveTopology); !topology.empty())
        addExclusivePlacement(pod["spec"], lws_keys::groupKey, text(labels, lws_keys::groupKey), topology);
    const bool isOfSubGroup = !annotationOf(pod, lws_keys::subGroupSize).empty()
        && annotationOf(pod, lws_keys::subGroupType) != "LeaderExcluded";
    if (isOfSubGroup && text(labels, lws_keys::subGroupIndex).empty())
        addSubGroup(pod, name, "0");
    return {};
}

Status placeWorker(Json &pod, std::int64_t size)
{
    const std::string name = text(at(pod, "metadata"), "name");
    const PodOrdinal place = podOrdinal(name);
    if (place.ordinal < 0)
        return noOrdinal(name);
    Json &labels = pod["metadata"]["labels"];
    labels[lws_keys::workerIndex] = std::to_string(place.ordinal);
    if (annotationOf(pod, lws_keys::subGroupSize).empty() || !text(labels, lws_keys::subGroupIndex).empty())
        return {};
    const std::int64_t part = integerOf(at(at(pod, "metadata"), "annotations"), lws_keys::subGroupSize);
    if (part < 1)
        return fail(ErrorCode::InvalidArgument,
                    "the annotation " + std::string(lws_keys::subGroupSize) + " of pod " + name
                        + " is no number above 0");
    // One pod too many: the leader is an extra one of the first part.
    const bool leaderIsExtra = (size - 1) % part == 0 && size % part != 0;
    const std::int64_t index = (leaderIsExtra ? place.ordinal - 1 : place.ordinal) / part;
    addSubGroup(pod, annotationOf(pod, lws_keys::leaderName), std::to_string(index));
    return {};
}

/// In front of the user's, so that those can refer to them; the user's of these names go.
void addGroupVariables(Json &pod, const std::string &nameSpace)
{
    const std::string leader = labelOf(pod, lws_keys::name) + "-" + labelOf(pod, lws_keys::groupIndex);
    const Json first
        = Json::array({{{"name", "LWS_LEADER_ADDRESS"},
                        {"value", leader + "." + text(pod["spec"], "subdomain") + "." + nameSpace}},
                       {{"name", "LWS_GROUP_SIZE"}, {"value", annotationOf(pod, lws_keys::size)}},
                       {{"name", "LWS_WORKER_INDEX"}, {"value", labelOf(pod, lws_keys::workerIndex)}}});
    for (const char *list : {"containers", "initContainers"}) {
        if (!at(pod["spec"], list).is_array())
            continue;
        for (Json &container : pod["spec"][list]) {
            if (!container.is_object())
                continue;
            Json variables = first;
            for (const Json &variable : at(container, "env")) {
                const std::string name = text(variable, "name");
                bool isKnown = false; // a second of one name goes, too: the real webhook keeps the first
                for (const Json &known : variables)
                    isKnown = isKnown || text(known, "name") == name;
                if (!isKnown)
                    variables.push_back(variable);
            }
            container["env"] = std::move(variables);
        }
    }
}

} // namespace

std::string groupKeyOf(const std::string &space, const std::string &name)
{
    const std::string words = space + "/" + name;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    EVP_Digest(words.data(), words.size(), digest.data(), &length, EVP_sha1(), nullptr);
    std::string hex;
    for (unsigned int i = 0; i < length; ++i) {
        constexpr const char *digits = "0123456789abcdef";
        hex += digits[digest[i] >> 4U];
        hex += digits[digest[i] & 15U];
    }
    return hex;
}

Result<Json> groupPodPatch(const Json &pod, const std::string &nameSpace)
{
    const Json &metadata = at(pod, "metadata");
    if (!at(metadata, "labels").contains(lws_keys::name) || !at(pod, "spec").is_object())
        return Json::array();
    const std::string name = text(metadata, "name");
    if (!at(at(metadata, "annotations"), lws_keys::size).is_string())
        return fail(ErrorCode::InvalidArgument, "size annotation is unexpectedly missing for pod " + name);
    const std::int64_t size = integerOf(at(metadata, "annotations"), lws_keys::size, -1);
    if (size < 0)
        return fail(ErrorCode::InvalidArgument, "the size annotation of pod " + name + " is no number");
    Json placed = pod;
    const bool isLeader = labelOf(pod, lws_keys::workerIndex) == "0";
    if (const Status done = isLeader ? placeLeader(placed, nameSpace) : placeWorker(placed, size); !done)
        return tl::unexpected(done.error());
    if (labelOf(placed, lws_keys::groupIndex).empty())
        return fail(ErrorCode::InvalidArgument,
                    "Failure constructing environment variables, no group index label found for pod "
                        + nameSpace + "/" + name);
    if (requestsTpus(placed["spec"]))
        addTpuVariables(placed, size);
    addGroupVariables(placed, nameSpace);
    return Json::diff(pod, placed);
}

} // namespace cluster::local
