#include "cluster/local/gcp/cluster_json.h"

#include "cluster/local/gcp/ip_space.h"
#include "cluster/local/gcp/json_members.h"
#include "cluster/local/gcp/wire_values.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

const char *const kStorageScope = "https://www.googleapis.com/auth/devstorage.read_only";

void setIfMissing(json &object, const char *name, json value)
{
    if (!object.contains(name) || object[name].is_null())
        object[name] = std::move(value);
}

bool isEnabled(const json &cluster, const char *section)
{
    const json &value = member(member(cluster, section), "enabled");
    return value.is_boolean() && value.get<bool>();
}

bool hasDataplaneV2(const json &cluster)
{
    return member(member(cluster, "networkConfig"), "datapathProvider") == "ADVANCED_DATAPATH";
}

void addNetworkDefaults(json &cluster, const ContainerNames &names, const std::string &region)
{
    const std::string network = cluster.value("network", std::string("default"));
    const std::string subnetwork = cluster.value("subnetwork", std::string("default"));
    cluster["network"] = network;
    cluster["subnetwork"] = subnetwork;
    setIfMissing(cluster, "clusterIpv4Cidr", "10.16.0.0/13");
    setIfMissing(cluster, "servicesIpv4Cidr", "34.118.224.0/20");
    json &allocation = cluster["ipAllocationPolicy"];
    if (!allocation.is_object())
        allocation = json::object();
    allocation["useIpAliases"] = true;
    setIfMissing(allocation, "clusterIpv4CidrBlock", cluster["clusterIpv4Cidr"]);
    setIfMissing(allocation, "servicesIpv4CidrBlock", cluster["servicesIpv4Cidr"]);
    setIfMissing(allocation, "stackType", "IPV4");
    json &config = cluster["networkConfig"];
    if (!config.is_object())
        config = json::object();
    const std::string root = "projects/" + names.projectId;
    config["network"] = root + "/global/networks/" + network;
    config["subnetwork"] = root + "/regions/" + region + "/subnetworks/" + subnetwork;
    setIfMissing(config, "serviceExternalIpsConfig", {{"enabled", false}});
    if (isAutopilot(cluster))
        config["datapathProvider"] = "ADVANCED_DATAPATH";
    setIfMissing(cluster, "defaultMaxPodsConstraint", {{"maxPodsPerNode", "110"}});
}

void addFeatureDefaults(json &cluster, const ContainerNames &names)
{
    setIfMissing(cluster, "addonsConfig", json::object());
    json &addons = cluster["addonsConfig"];
    setIfMissing(addons, "gcePersistentDiskCsiDriverConfig", {{"enabled", true}});
    setIfMissing(addons, "networkPolicyConfig", {{"disabled", true}});
    setIfMissing(addons, "dnsCacheConfig", {{"enabled", isAutopilot(cluster)}});
    if (isAutopilot(cluster)) {
        setIfMissing(addons, "gcsFuseCsiDriverConfig", {{"enabled", true}});
        cluster["verticalPodAutoscaling"] = {{"enabled", true}};
        setIfMissing(cluster, "workloadIdentityConfig", {{"workloadPool", names.projectId + ".svc.id.goog"}});
        setIfMissing(cluster, "autoscaling",
                     {{"enableNodeAutoprovisioning", true}, {"autoscalingProfile", "OPTIMIZE_UTILIZATION"}});
    }
    setIfMissing(cluster, "autoscaling", {{"autoscalingProfile", "BALANCED"}});
    setIfMissing(cluster, "releaseChannel", {{"channel", "REGULAR"}});
    setIfMissing(cluster, "loggingService", "logging.googleapis.com/kubernetes");
    setIfMissing(cluster, "monitoringService", "monitoring.googleapis.com/kubernetes");
    const json components = json::array({"SYSTEM_COMPONENTS", "WORKLOADS"});
    setIfMissing(cluster, "loggingConfig", {{"componentConfig", {{"enableComponents", components}}}});
    setIfMissing(cluster, "monitoringConfig",
                 {{"componentConfig", {{"enableComponents", json::array({"SYSTEM_COMPONENTS"})}}},
                  {"managedPrometheusConfig", {{"enabled", true}}}});
    setIfMissing(cluster, "databaseEncryption",
                 {{"state", "DECRYPTED"}, {"currentState", "CURRENT_STATE_DECRYPTED"}});
    setIfMissing(cluster, "shieldedNodes", {{"enabled", true}});
    setIfMissing(cluster, "legacyAbac", json::object());
    setIfMissing(cluster, "notificationConfig", {{"pubsub", json::object()}});
    setIfMissing(cluster, "securityPostureConfig",
                 {{"mode", "BASIC"}, {"vulnerabilityMode", "VULNERABILITY_MODE_UNSPECIFIED"}});
    setIfMissing(
        cluster, "nodePoolDefaults",
        {{"nodeConfigDefaults", {{"loggingConfig", {{"variantConfig", {{"variant", "DEFAULT"}}}}}}}});
    setIfMissing(cluster, "maintenancePolicy", {{"resourceVersion", "e3b0c442"}});
}

/// Cost views of the bill look at these.
json resourceLabelsOf(const PoolRequest &request)
{
    const PoolSpec &spec = request.spec;
    json labels{{"goog-gke-node-pool-provisioning-model",
                 spec.provisioning == Provisioning::FlexStart      ? "flex-start"
                     : spec.provisioning != Provisioning::Standard ? "spot"
                     : request.usesReservation                     ? "reservation"
                                                                   : "on-demand"}};
    if (!spec.tpuAccelerator.empty()) {
        labels["goog-gke-accelerator-type"] = spec.tpuAccelerator;
        labels["goog-gke-tpu-node-pool-type"] = spec.isMultiHost ? "multi-host" : "single-host";
    } else if (!spec.gpuAccelerator.empty()) {
        labels["goog-gke-accelerator-type"] = spec.gpuAccelerator;
    }
    return labels;
}

void addConfigDefaults(json &config, const PoolRequest &request, const json &cluster)
{
    const PoolSpec &spec = request.spec;
    config["machineType"] = spec.machineType;
    config["diskSizeGb"] = spec.diskGb;
    config["diskType"] = spec.diskType;
    config["imageType"] = spec.imageType;
    setIfMissing(config, "serviceAccount", "default");
    setIfMissing(config, "oauthScopes",
                 json::array({kStorageScope, "https://www.googleapis.com/auth/logging.write",
                              "https://www.googleapis.com/auth/monitoring"}));
    setIfMissing(config, "metadata", {{"disable-legacy-endpoints", "true"}});
    setIfMissing(config, "shieldedInstanceConfig", {{"enableIntegrityMonitoring", true}});
    setIfMissing(config, "windowsNodeConfig", json::object());
    setIfMissing(config, "effectiveCgroupMode", "EFFECTIVE_CGROUP_MODE_V2");
    if (cluster.contains("workloadIdentityConfig"))
        setIfMissing(config, "workloadMetadataConfig", {{"mode", "GKE_METADATA"}});
    config["resourceLabels"].update(resourceLabelsOf(request));
    if (!spec.gpuAccelerator.empty())
        setIfMissing(config, "accelerators",
                     json::array({{{"acceleratorType", spec.gpuAccelerator},
                                   {"acceleratorCount", std::to_string(spec.gpusPerNode)}}}));
    // GKE marks accelerators' nodes itself, and shows it.
    const char *taintKey = !spec.tpuAccelerator.empty() ? "google.com/tpu"
        : !spec.gpuAccelerator.empty()                  ? "nvidia.com/gpu"
                                                        : nullptr;
    json &taints = config["taints"];
    if (taints.is_null())
        taints = json::array();
    const bool isThere = std::any_of(taints.begin(), taints.end(), [&](const json &taint) {
        return taintKey && taint.value("key", std::string()) == taintKey;
    });
    if (taintKey && !isThere)
        taints.push_back({{"key", taintKey}, {"value", "present"}, {"effect", "NO_SCHEDULE"}});
    if (taints.empty())
        config.erase("taints");
}

/// As long as names of instance groups may be: cluster and pool cut, then a hash of both.
std::string groupName(const ClusterRecord &record, const std::string &pool, const std::string &zone)
{
    const auto hash = std::hash<std::string>()(record.id + "/" + pool + "/" + zone);
    char suffix[9];
    std::snprintf(suffix, sizeof suffix, "%08x", static_cast<unsigned>(hash & 0xffffffffu));
    return "gke-" + record.key.name.substr(0, 16) + "-" + pool.substr(0, 16) + "-" + suffix + "-grp";
}

int asked(const json &pool)
{
    const auto zones = static_cast<int>(member(pool, "locations").size());
    return pool.value("initialNodeCount", 0) * std::max(1, zones);
}

} // namespace

bool isAutopilot(const json &cluster)
{
    return isEnabled(cluster, "autopilot");
}

bool isZone(const std::string &location)
{
    return std::count(location.begin(), location.end(), '-') >= 2;
}

std::string clusterLink(const ClusterKey &key, const std::string &project)
{
    return "https://container.googleapis.com/v1/projects/" + project
        + (isZone(key.location) ? "/zones/" : "/locations/") + key.location + "/clusters/" + key.name;
}

json newClusterJson(const json &asked, const ClusterRecord &record, const ContainerNames &names,
                    const std::string &version, const std::vector<std::string> &zones)
{
    json cluster = asked;
    for (const char *old : {"nodePools", "nodeConfig", "initialNodeCount", "nodeIpv4CidrSize", "masterAuth",
                            "initialClusterVersion"})
        cluster.erase(old);
    cluster["name"] = record.key.name;
    cluster["id"] = record.id;
    cluster["location"] = record.key.location;
    cluster["zone"] = record.key.location; // deprecated, but what gcloud names its kubeconfig's context after
    cluster["locations"] = zones;
    cluster["initialClusterVersion"] = version;
    cluster["currentMasterVersion"] = version;
    cluster["currentNodeVersion"] = version;
    cluster["createTime"] = names.timestamp;
    cluster["selfLink"] = clusterLink(record.key, names.projectId);
    cluster["status"] = "PROVISIONING";
    cluster["labelFingerprint"] = "a9dc16a7";
    addNetworkDefaults(cluster, names, regionOfZone(record.key.location));
    addFeatureDefaults(cluster, names);
    return cluster;
}

json newPoolJson(const json &asked, const PoolRequest &request, const ClusterRecord &record,
                 const ContainerNames &names)
{
    const PoolSpec &spec = request.spec;
    json pool = asked;
    setIfMissing(pool, "config", json::object());
    addConfigDefaults(pool["config"], request, record.wire);
    pool["initialNodeCount"] = request.initialNodeCount.value_or(0);
    pool["locations"] = spec.zones;
    pool["version"] = spec.version;
    pool["status"] = "PROVISIONING";
    pool["selfLink"] = clusterLink(record.key, names.projectId) + "/nodePools/" + spec.name;
    pool["maxPodsConstraint"] = {{"maxPodsPerNode", std::to_string(spec.maxPodsPerNode)}};
    pool["podIpv4CidrSize"] = podRangeLength(spec.maxPodsPerNode);
    setIfMissing(pool, "autoscaling", json::object());
    setIfMissing(pool, "management", {{"autoUpgrade", true}, {"autoRepair", true}});
    setIfMissing(pool, "upgradeSettings", {{"maxSurge", 1}});
    setIfMissing(pool["upgradeSettings"], "strategy", "SURGE");
    setIfMissing(pool, "networkConfig", json::object());
    setIfMissing(pool["networkConfig"], "podIpv4CidrBlock",
                 record.wire.value("clusterIpv4Cidr", std::string("10.16.0.0/13")));
    if (spec.isMultiHost && request.placementPolicy.empty())
        setIfMissing(pool["placementPolicy"], "type", "COMPACT");
    pool["instanceGroupUrls"] = json::array();
    for (const std::string &zone : spec.zones)
        pool["instanceGroupUrls"].push_back("https://www.googleapis.com/compute/v1/projects/"
                                            + names.projectId + "/zones/" + zone + "/instanceGroupManagers/"
                                            + groupName(record, spec.name, zone));
    return pool;
}

void completeClusterJson(json &cluster, const std::vector<PoolState> *states)
{
    int nodes = 0;
    json groups = json::array();
    std::vector<std::string> versions;
    for (const json &pool : cluster["nodePools"]) {
        if (!states)
            nodes += asked(pool);
        for (const json &url : member(pool, "instanceGroupUrls"))
            groups.push_back(url);
        versions.push_back(pool.value("version", std::string()));
    }
    if (states) {
        for (const PoolState &state : *states)
            nodes += state.nodeCount;
    }
    cluster["currentNodeCount"] = nodes;
    cluster["instanceGroupUrls"] = std::move(groups);
    if (!versions.empty()) {
        const bool isMixed = std::any_of(versions.begin(), versions.end(),
                                         [&](const auto &v) { return v != versions.front(); });
        cluster["currentNodeVersion"] = versions.front() + (isMixed ? " *" : "");
        cluster["nodeConfig"] = cluster["nodePools"].front()["config"];
        cluster["initialNodeCount"] = cluster["nodePools"].front().value("initialNodeCount", 0);
    }
}

ClusterSpec clusterSpecOf(const ClusterRecord &record)
{
    const json &wire = record.wire;
    const json &addons = member(wire, "addonsConfig");
    const auto isDisabled = [&](const char *name) {
        const json &value = member(member(addons, name), "disabled");
        return value.is_boolean() && value.get<bool>();
    };
    ClusterSpec spec;
    spec.id = record.id;
    spec.project = record.key.project;
    spec.location = record.key.location;
    spec.name = record.key.name;
    spec.zones = wire.at("locations").get<std::vector<std::string>>();
    spec.version = wire.at("currentMasterVersion").get<std::string>();
    spec.autopilot = isAutopilot(wire);
    spec.rayOperator = isEnabled(addons, "rayOperatorConfig");
    spec.gcsFuse = isEnabled(addons, "gcsFuseCsiDriverConfig");
    spec.horizontalPodAutoscaling = !isDisabled("horizontalPodAutoscaling");
    spec.httpLoadBalancing = !isDisabled("httpLoadBalancing");
    spec.dataplaneV2 = hasDataplaneV2(wire);
    spec.managedPrometheus = isEnabled(member(wire, "monitoringConfig"), "managedPrometheusConfig");
    spec.nodeAutoProvisioning = member(wire, "autoscaling").value("enableNodeAutoprovisioning", false);
    spec.workloadPool = member(wire, "workloadIdentityConfig").is_object()
        ? member(wire, "workloadIdentityConfig").value("workloadPool", std::string())
        : std::string();
    for (const auto &[key, value] : member(wire, "resourceLabels").items())
        spec.labels[key] = value.get<std::string>();
    return spec;
}

PoolSurroundings surroundingsOf(const json &cluster)
{
    PoolSurroundings surroundings;
    surroundings.version = cluster.at("currentMasterVersion").get<std::string>();
    surroundings.location = cluster.at("location").get<std::string>();
    surroundings.zones = cluster.at("locations").get<std::vector<std::string>>();
    surroundings.isAutopilot = isAutopilot(cluster);
    surroundings.workloadIdentity = cluster.contains("workloadIdentityConfig");
    surroundings.dataplaneV2 = hasDataplaneV2(cluster);
    return surroundings;
}

void mergeAddons(json &addons, const json &desired)
{
    for (const auto &[name, value] : desired.items()) {
        if (value.is_object())
            addons[name].update(value);
    }
}

} // namespace cluster::local
