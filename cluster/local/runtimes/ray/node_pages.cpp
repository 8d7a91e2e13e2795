#include "cluster/local/runtimes/ray/node_pages.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace cluster::local {

using nlohmann::json;

namespace {

/// Inside these pages names with "_" are camel-cased, those of resources too.
std::string camelResource(const std::string &name)
{
    if (name == "object_store_memory")
        return "objectStoreMemory";
    return name == "node:__internal_head__" ? "node:InternalHead" : name;
}

std::string numberText(double number)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.16g", number);
    std::string out = text.data();
    return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

std::string bytesText(double bytes)
{
    constexpr std::array<const char *, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit)
        bytes /= 1024;
    if (unit == 0)
        return std::to_string(static_cast<long>(bytes)) + units[0];
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.2f%s", bytes, units[unit]);
    return text.data();
}

/// "0.0/4.0 CPU" by name; nodes' own marks are left out.
std::string usageLines(const RayResources &used, const RayResources &total, const std::string &indent)
{
    std::string text;
    for (const auto &[name, amount] : total) {
        if (name.starts_with("node:"))
            continue;
        const auto taken = used.find(name);
        const double in = taken == used.end() ? 0 : taken->second;
        const bool isBytes = name == "memory" || name == "object_store_memory";
        text += (text.empty() ? "" : "\n") + indent
            + (isBytes ? bytesText(in) + "/" + bytesText(amount) : numberText(in) + "/" + numberText(amount))
            + " " + name;
    }
    return text;
}

json camelResources(const RayResources &resources)
{
    json made = json::object();
    for (const auto &[name, amount] : resources)
        made[camelResource(name)] = amount;
    return made;
}

double ofNode(const RayNode &node, const char *resource)
{
    const auto found = node.facts.resources.find(resource);
    return found == node.facts.resources.end() ? 0 : found->second;
}

/// The raylet's part of a dead node: all but its id is forgotten.
json deadRaylet(const RayNode &node)
{
    const bool wasExpected = node.death == RayDeath::SigTerm;
    const std::string message = node.stateMessage();
    return {{"objectStoreUsedMemory", 0},
            {"objectStoreAvailableMemory", 0},
            {"nodeId", node.id},
            {"state", "DEAD"},
            {"endTimeMs", std::to_string(node.endMs)},
            {"deathInfo",
             {{"reason", wasExpected ? "EXPECTED_TERMINATION" : "UNEXPECTED_TERMINATION"},
              {"reasonMessage", message.substr(message.find(": ") + 2)}}},
            {"nodeManagerAddress", ""},
            {"rayletSocketName", ""},
            {"objectStoreSocketName", ""},
            {"nodeManagerPort", 0},
            {"objectManagerPort", 0},
            {"nodeManagerHostname", ""},
            {"metricsExportPort", 0},
            {"runtimeEnvAgentPort", 0},
            {"metricsAgentPort", 0},
            {"dashboardAgentListenPort", 0},
            {"resourcesTotal", json::object()},
            {"nodeName", ""},
            {"instanceId", ""},
            {"nodeTypeName", ""},
            {"instanceTypeName", ""},
            {"startTimeMs", "0"},
            {"isHeadNode", false},
            {"labels", json::object()},
            {"tempDir", ""},
            {"sessionDir", ""},
            {"stateMessage", message}};
}

json raylet(const RayNode &node, const std::string &session)
{
    const double store = ofNode(node, "object_store_memory");
    const std::string folder = "/tmp/ray/" + session;
    return {
        {"storeStats", {{"objectStoreBytesAvail", std::to_string(static_cast<std::int64_t>(store))}}},
        {"coreWorkersStats", json::array()},
        {"objectStoreUsedMemory", 0},
        {"objectStoreAvailableMemory", static_cast<std::int64_t>(store)},
        {"nodeId", node.id},
        {"nodeManagerAddress", node.facts.ip},
        {"rayletSocketName", folder + "/sockets/raylet"},
        {"objectStoreSocketName", folder + "/sockets/plasma_store"},
        {"nodeManagerPort", 0},
        {"objectManagerPort", 0},
        {"nodeManagerHostname", node.facts.hostName},
        {"metricsExportPort", node.facts.metricsPort},
        {"resourcesTotal", camelResources(node.facts.resources)},
        {"nodeName", node.facts.name},
        {"startTimeMs", std::to_string(node.startMs)},
        {"isHeadNode", node.isHead},
        {"labels", node.facts.labels},
        {"runtimeEnvAgentPort", 0},
        {"stateSnapshot", {{"state", "ACTIVE"}, {"idleDurationMs", "0"}, {"nodeActivity", json::array()}}},
        {"metricsAgentPort", 0},
        {"dashboardAgentListenPort", node.facts.agentPort},
        {"tempDir", "/tmp/ray"},
        {"sessionDir", folder},
        {"state", "ALIVE"},
        {"instanceId", node.facts.instanceId},
        {"nodeTypeName", node.facts.nodeType},
        {"instanceTypeName", ""},
        {"endTimeMs", "0"},
        {"stateMessage", nullptr}};
}

/// The one process that plays agent, raylet and, on the head, GCS.
json processDetails(const RayNode &node, const char *name)
{
    return {{"pid", node.facts.pid},
            {"createTime", static_cast<double>(node.startMs) / 1000},
            {"cpuPercent", 0.0},
            {"cpuTimes", {{"user", 0.0}, {"system", 0.0}, {"childrenUser", 0.0}, {"childrenSystem", 0.0}}},
            {"cmdline", {name, "", ""}},
            {"memoryInfo",
             {{"rss", static_cast<double>(node.stats.ownBytes)},
              {"vms", 0.0},
              {"pfaults", nullptr},
              {"pageins", nullptr}}},
            {"memoryFullInfo", nullptr},
            {"numFds", 0},
            {"gpuMemoryUsage", nullptr},
            {"gpuUtilization", nullptr}};
}

json summaryOf(const RayNode &node, const std::string &session)
{
    if (!node.isAlive())
        return {{"raylet", deadRaylet(node)}, {"tpus", json::array()}};
    const RayNodeStats &stats = node.stats;
    const std::uint64_t total = stats.memoryTotalBytes, used = stats.memoryUsedBytes;
    const double percent = total > 0 ? 100.0 * static_cast<double>(used) / static_cast<double>(total) : 0;
    const auto cpus = static_cast<int>(ofNode(node, "CPU"));
    json perCpu = json::array();
    for (const double load : stats.load)
        perCpu.push_back(load / std::max(1, cpus));
    const json noDisk{{"total", 0}, {"used", 0}, {"free", 0}, {"percent", 0.0}};
    return {{"now", secondsSinceEpoch()},
            {"hostname", node.facts.hostName},
            {"ip", node.facts.ip},
            {"cpu", stats.cpuPercent},
            {"cpus", {cpus, cpus}},
            {"mem", {total, total - used, percent, used}},
            {"hostMem", {used, total}},
            {"cgroupMem", {used, total}},
            {"shm", 0},
            {"raylet", raylet(node, session)},
            {"agent", processDetails(node, "ray::DashboardAgent")},
            {"bootTime", static_cast<double>(node.startMs) / 1000},
            {"loadAvg", {{stats.load[0], stats.load[1], stats.load[2]}, perCpu}},
            {"disk", {{"/", noDisk}}},
            {"diskIo", {0, 0, 0, 0}},
            {"diskIoSpeed", {0.0, 0.0, 0.0, 0.0}},
            {"gpus", json::array()},
            {"tpus", json::array()}, // devices are looked for: the resource does not fill it
            {"network", {0, 0}},
            {"networkSpeed", {0.0, 0.0}},
            {"cmdline", json::array({"slipway-ray"})},
            {"gcs", node.isHead ? processDetails(node, "gcs_server") : json()}};
}

RayResources addUp(const NodeTable &nodes, const std::function<RayResources(const RayNode &)> &of)
{
    RayResources sum;
    for (const RayNode &node : nodes.all()) {
        if (!node.isAlive())
            continue;
        for (const auto &[name, amount] : of(node))
            sum[name] += amount;
    }
    return sum;
}

json pairs(const RayResources &used, const RayResources &total)
{
    json made = json::object();
    for (const auto &[name, amount] : total) {
        const auto taken = used.find(name);
        made[camelResource(name)] = {taken == used.end() ? 0.0 : taken->second, amount};
    }
    return made;
}

} // namespace

json nodesSummary(const NodeTable &nodes, const UsedResources &used, const std::string &session)
{
    json summary = json::array(), logical = json::object();
    for (const RayNode &node : nodes.all()) {
        summary.push_back(summaryOf(node, session));
        if (node.isAlive())
            logical[node.id] = usageLines(used(node.id), node.facts.resources, "");
    }
    return {{"summary", std::move(summary)}, {"nodeLogicalResources", std::move(logical)}};
}

json nodeDetail(const NodeTable &nodes, const std::string &id, const json &actors, const std::string &session)
{
    const RayNode *node = nodes.find(id);
    if (node == nullptr)
        return {
            {"detail",
             {{"raylet",
               {{"objectStoreUsedMemory", 0}, {"objectStoreAvailableMemory", 0}, {"stateMessage", nullptr}}},
              {"tpus", json::array()},
              {"actors", json::object()},
              {"workers", json::array()}}}};
    json detail = summaryOf(*node, session);
    detail["actors"] = actors;
    detail["workers"] = json::array();
    if (node->isAlive()) {
        detail["raylet"].erase("coreWorkersStats");
        detail["raylet"]["numWorkers"] = 0;
    }
    return {{"detail", std::move(detail)}};
}

json clusterStatus(const NodeTable &nodes, const UsedResources &used)
{
    json active = json::object(), mapping = json::object(), types = json::array(), byNode = json::object();
    int count = 0;
    for (const RayNode &node : nodes.all()) {
        if (!node.isAlive())
            continue;
        ++count;
        active["node_" + node.id] = 1;
        mapping[node.id] = "node_" + node.id;
        types.push_back({node.facts.resources, 1});
        byNode[node.id] = pairs(used(node.id), node.facts.resources);
    }
    const RayResources total = addUp(nodes, [](const RayNode &node) { return node.facts.resources; });
    const RayResources taken = addUp(nodes, [&used](const RayNode &node) { return used(node.id); });
    std::string usage = usageLines(taken, total, "");
    std::replace(usage.begin(), usage.end(), '\n', ',');
    const json report{{"activeNodes", std::move(active)},
                      {"idleNodes", nullptr},
                      {"pendingNodes", json::array()},
                      {"pendingLaunches", json::object()},
                      {"failedNodes", json::array()},
                      {"nodeAvailabilitySummary", {{"nodeAvailabilities", json::object()}}},
                      {"nodeActivities", nullptr},
                      {"pendingResources", json::object()},
                      {"nodeTypeMapping", std::move(mapping)},
                      {"legacy", true}};
    const json load{
        {"usage", pairs(taken, total)},     {"resourceDemand", json::array()}, {"pgDemand", json::array()},
        {"requestDemand", json::array()},   {"nodeTypes", std::move(types)},   {"headIp", nullptr},
        {"usageByNode", std::move(byNode)}, {"nodeTypeMapping", nullptr},      {"idleTimeMap", nullptr}};
    return {{"autoscalingStatus",
             "Cluster status: " + std::to_string(count) + " nodes\n - ResourceUsage: " + usage
                 + "\nWorker node types:"},
            {"autoscalingError", nullptr},
            {"clusterStatus",
             {{"gcsRequestTime", 0.0},
              {"time", secondsSinceEpoch()},
              {"monitorPid", nodes.all().empty() ? 0 : nodes.all().front().facts.pid},
              {"autoscalerUpdateTime", 0.0},
              {"autoscalerReport", report},
              {"nonTerminatedNodesTime", 0.0},
              {"loadMetricsReport", load}}}};
}

std::string clusterStatusText(const NodeTable &nodes, const UsedResources &used)
{
    std::array<char, 64> time{};
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S.000000", &parts);
    const std::string line = "\n---------------------------------------------------------------\n";
    std::string active, failed;
    for (const RayNode &node : nodes.all()) {
        if (node.isAlive())
            active += "\n 1 node_" + node.id;
    }
    const RayResources total = addUp(nodes, [](const RayNode &node) { return node.facts.resources; });
    const RayResources taken = addUp(nodes, [&used](const RayNode &node) { return used(node.id); });
    return std::string("======== Autoscaler status: ") + time.data() + " ========\nNode status" + line
        + "Active:" + active
        + "\nPending:\n (no pending nodes)\nRecent failures:\n (no failures)\n\nResources" + line
        + "Total Usage:\n" + usageLines(taken, total, " ")
        + "\n\nFrom request_resources:\n (none)\nPending Demands:\n (no resource demands)";
}

json stateOfNodes(const NodeTable &nodes, bool hasDetail)
{
    json list = json::array();
    for (const RayNode &node : nodes.all()) {
        const std::string message = node.stateMessage();
        json one{{"node_id", node.id},
                 {"node_ip", node.facts.ip},
                 {"is_head_node", node.isHead},
                 {"state", node.isAlive() ? "ALIVE" : "DEAD"},
                 {"state_message", message.empty() ? json() : json(message)},
                 {"node_name", node.facts.name},
                 {"resources_total", node.facts.resources},
                 {"labels", node.facts.labels}};
        if (hasDetail) {
            one["start_time_ms"] = node.startMs;
            one["end_time_ms"] = node.endMs;
        }
        list.push_back(std::move(one));
    }
    return list;
}

json metricTargets(const NodeTable &nodes)
{
    json targets = json::array();
    for (const RayNode &node : nodes.all()) {
        if (node.isAlive())
            targets.push_back(node.facts.ip + ":" + std::to_string(node.facts.metricsPort));
    }
    return json::array({{{"labels", {{"job", "ray"}}}, {"targets", std::move(targets)}}});
}

} // namespace cluster::local
