#include "cluster/local/lws/lws_objects.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_revision.h"
#include "cluster/local/lws/lws_spec.h"
#include "cluster/local/nodes/json_access.h"

#include <algorithm>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

/// Texts of `first`, and of `second` where both have them.
Json merged(const Json &first, const Json &second)
{
    Json both = first.is_object() ? first : Json::object();
    both.update(second);
    return both;
}

/// The member, an object in any case: the schema sees to that, but not every version has the same.
Json &objectIn(Json &holder, const char *key)
{
    if (!holder.is_object())
        holder = Json::object();
    Json &object = holder[key];
    if (!object.is_object())
        object = Json::object();
    return object;
}

void addMetadata(Json &podTemplate, const Json &labels, const Json &annotations)
{
    Json &metadata = objectIn(podTemplate, "metadata");
    metadata["labels"] = merged(at(metadata, "labels"), labels);
    metadata["annotations"] = merged(at(metadata, "annotations"), annotations);
    metadata.erase("creationTimestamp");
}

/// What both kinds of pods are told of their group.
Json groupAnnotations(const Json &lws, const LwsSpec &spec)
{
    Json annotations{{lws_keys::size, std::to_string(spec.size)}};
    const auto pass = [&](const char *key) {
        if (const std::string value = annotationOf(lws, key); !value.empty())
            annotations[key] = value;
    };
    pass(lws_keys::exclusiveTopology);
    const Json &policy = at(groupTemplateOf(lws), "subGroupPolicy");
    if (!policy.is_object())
        return annotations;
    const std::string type = text(policy, "subGroupPolicyType");
    annotations[lws_keys::subGroupType] = type.empty() ? "LeaderWorker" : type;
    annotations[lws_keys::subGroupSize] = std::to_string(integerOf(policy, "subGroupSize"));
    pass(lws_keys::subGroupTopology);
    return annotations;
}

Json claimTemplate(const Json &claim, const std::string &nameSpace)
{
    Json spec = Json::object();
    for (const char *key : {"accessModes", "storageClassName", "volumeMode"}) {
        if (const Json &value = at(at(claim, "spec"), key); !value.is_null())
            spec[key] = value;
    }
    for (const char *key : {"requests", "limits"}) {
        if (const Json &value = at(at(at(claim, "spec"), "resources"), key); value.is_object())
            spec["resources"][key] = value;
    }
    return {{"apiVersion", "v1"},
            {"kind", "PersistentVolumeClaim"},
            {"metadata", {{"name", text(at(claim, "metadata"), "name")}, {"namespace", nameSpace}}},
            {"spec", std::move(spec)}};
}

/// Claims of both kinds of StatefulSets.
void addClaims(Json &statefulSet, const Json &lws, const std::string &nameSpace)
{
    const Json &group = groupTemplateOf(lws);
    Json claims = Json::array();
    for (const Json &claim : at(group, "volumeClaimTemplates"))
        claims.push_back(claimTemplate(claim, nameSpace));
    if (!claims.empty())
        statefulSet["spec"]["volumeClaimTemplates"] = std::move(claims);
    if (const Json &retention = at(group, "persistentVolumeClaimRetentionPolicy"); retention.is_object())
        statefulSet["spec"]["persistentVolumeClaimRetentionPolicy"] = retention;
}

Json statefulSet(const std::string &name, const std::string &nameSpace, Json labels, const Json &annotations,
                 Json owner, Json spec)
{
    Json object{{"apiVersion", "apps/v1"},
                {"kind", "StatefulSet"},
                {"metadata",
                 {{"name", name},
                  {"namespace", nameSpace},
                  {"labels", std::move(labels)},
                  {"ownerReferences", Json::array({std::move(owner)})}}},
                {"spec", std::move(spec)}};
    if (annotations.is_object() && !annotations.empty())
        object["metadata"]["annotations"] = annotations;
    return object;
}

Json headlessService(const std::string &name, const LwsSpec &spec, Json selector, Json owner)
{
    return {{"apiVersion", "v1"},
            {"kind", "Service"},
            {"metadata",
             {{"name", name},
              {"namespace", spec.nameSpace},
              {"labels", {{lws_keys::name, spec.name}}},
              {"ownerReferences", Json::array({std::move(owner)})}}},
            {"spec",
             {{"clusterIP", "None"}, {"selector", std::move(selector)}, {"publishNotReadyAddresses", true}}}};
}

} // namespace

Json ownedBy(const char *apiVersion, const char *kind, const Json &owner)
{
    const Json &metadata = at(owner, "metadata");
    return {{"apiVersion", apiVersion},     {"kind", kind},       {"name", text(metadata, "name")},
            {"uid", text(metadata, "uid")}, {"controller", true}, {"blockOwnerDeletion", true}};
}

Json leaderStatefulSet(const Json &lws, const RolloutStep &step, const std::string &revisionKey)
{
    const LwsSpec spec = lwsSpec(lws);
    const Json &group = groupTemplateOf(lws);
    const Json &metadata = at(lws, "metadata");
    const Json selector{{lws_keys::name, spec.name}, {lws_keys::workerIndex, "0"}};
    const Json known{{lws_keys::name, spec.name}, {lws_keys::revision, revisionKey}};
    Json podTemplate
        = at(group, at(group, "leaderTemplate").is_object() ? "leaderTemplate" : "workerTemplate");
    Json annotations = groupAnnotations(lws, spec);
    if (spec.hasOwnSubdomains)
        annotations[lws_keys::subdomainPolicy] = "UniquePerReplica";
    addMetadata(podTemplate, merged(selector, known), annotations);
    // A server without the feature drops maxUnavailable, and pods go one at a time.
    const std::int64_t unavailable = std::max<std::int64_t>(1, spec.maxUnavailable + spec.maxSurge);
    const std::string type = text(at(at(lws, "spec"), "rolloutStrategy"), "type");
    Json object = statefulSet(
        spec.name, spec.nameSpace, merged(at(metadata, "labels"), known),
        merged(at(metadata, "annotations"), {{lws_keys::replicas, std::to_string(spec.replicas)}}),
        ownedBy(lws_keys::apiVersion, lws_keys::kind, lws),
        {{"serviceName", spec.name},
         {"replicas", step.replicas},
         {"podManagementPolicy", "Parallel"},
         {"template", std::move(podTemplate)},
         {"updateStrategy",
          {{"type", type.empty() ? "RollingUpdate" : type},
           {"rollingUpdate", {{"partition", step.partition}, {"maxUnavailable", unavailable}}}}},
         {"selector", {{"matchLabels", selector}}}});
    addClaims(object, lws, spec.nameSpace);
    return object;
}

Json workerStatefulSet(const Json &lws, const Json &leader, const Json &revision, const std::string &topology)
{
    const LwsSpec spec = lwsSpec(lws);
    const std::string leaderName = text(at(leader, "metadata"), "name");
    const Json selector{{lws_keys::groupIndex, labelOf(leader, lws_keys::groupIndex)},
                        {lws_keys::name, spec.name},
                        {lws_keys::groupKey, labelOf(leader, lws_keys::groupKey)}};
    const Json labels = merged(selector, {{lws_keys::revision, labelOf(leader, lws_keys::revision)}});
    Json podTemplate = at(groupTemplateOf(withRevision(lws, revision)), "workerTemplate");
    Json annotations = groupAnnotations(lws, spec);
    annotations[lws_keys::leaderName] = leaderName;
    if (requestsTpus(at(leader, "spec")))
        annotations[lws_keys::leaderRequestsTpus] = "true";
    addMetadata(podTemplate, labels, annotations);
    if (const std::string key = annotationOf(lws, lws_keys::exclusiveTopology); !key.empty()) {
        Json &podSpec = objectIn(podTemplate, "spec");
        podSpec["nodeSelector"] = merged(at(podSpec, "nodeSelector"), {{key, topology}});
    }
    Json object = statefulSet(leaderName, text(at(leader, "metadata"), "namespace"),
                              merged(at(at(lws, "metadata"), "labels"), labels),
                              at(at(lws, "metadata"), "annotations"), ownedBy("v1", "Pod", leader),
                              {{"serviceName", spec.hasOwnSubdomains ? leaderName : spec.name},
                               {"replicas", spec.size - 1},
                               {"podManagementPolicy", "Parallel"},
                               {"template", std::move(podTemplate)},
                               {"ordinals", {{"start", 1}}},
                               {"selector", {{"matchLabels", selector}}}});
    addClaims(object, lws, spec.nameSpace);
    return object;
}

Json sharedService(const Json &lws)
{
    const LwsSpec spec = lwsSpec(lws);
    return headlessService(spec.name, spec, {{lws_keys::name, spec.name}},
                           ownedBy(lws_keys::apiVersion, lws_keys::kind, lws));
}

Json groupService(const Json &lws, const Json &leader)
{
    const LwsSpec spec = lwsSpec(lws);
    const Json selector{{lws_keys::name, spec.name},
                        {lws_keys::groupIndex, labelOf(leader, lws_keys::groupIndex)}};
    return headlessService(text(at(leader, "metadata"), "name"), spec, selector,
                           ownedBy("v1", "Pod", leader));
}

bool containerRequestsTpus(const Json &container)
{
    for (const char *list : {"limits", "requests"}) {
        const Json &quantity = at(at(at(container, "resources"), list), "google.com/tpu");
        if (quantity.is_number() ? quantity.get<double>() != 0 : quantity.is_string() && quantity != "0")
            return true;
    }
    return false;
}

bool requestsTpus(const Json &podSpec)
{
    for (const char *list : {"containers", "initContainers"}) {
        const Json &containers = at(podSpec, list);
        if (containers.is_array() && std::ranges::any_of(containers, containerRequestsTpus))
            return true;
    }
    return false;
}

} // namespace cluster::local
