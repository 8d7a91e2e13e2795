#include "cluster/local/gcp/operation_progress.h"

#include <algorithm>
#include <array>

namespace cluster::local {

using namespace std::chrono_literals;
using nlohmann::json;

namespace {

struct Step
{
    const char *metric;
    const char *words;
    double until; ///< share of the whole
    int parts;
};

constexpr std::array<Step, 3> kClusterSteps{{
    {"CLUSTER_CONFIGURING", "Cluster is being configured", 0.2, 4},
    {"CLUSTER_DEPLOYING", "Cluster is being deployed", 0.75, 12},
    {"CLUSTER_HEALTHCHECKING", "Cluster is being health-checked", 1.0, 3},
}};
constexpr std::array<Step, 2> kPoolSteps{{
    {"NODES_PROVISIONING", "Nodes are being provisioned", 0.7, 8},
    {"NODES_REGISTERING", "Nodes are being health-checked", 1.0, 2},
}};

bool hasAccelerator(const json &cluster, const std::string &name)
{
    const auto pools = cluster.find("nodePools");
    if (pools == cluster.end())
        return false;
    return std::any_of(pools->begin(), pools->end(), [&](const json &pool) {
        return pool.value("name", std::string()) == name && pool.contains("config")
            && pool["config"].contains("taints");
    });
}

template<std::size_t Count>
json metricsOf(const std::array<Step, Count> &steps, double done, std::string &words)
{
    json metrics = json::array();
    double from = 0;
    for (const Step &step : steps) {
        const double share = std::clamp((done - from) / (step.until - from), 0.0, 1.0);
        if (words.empty() && (share < 1 || &step == &steps.back()))
            words = step.words;
        const int reached = static_cast<int>(share * step.parts);
        metrics.push_back({{"name", step.metric}, {"intValue", std::to_string(reached)}});
        metrics.push_back(
            {{"name", std::string(step.metric) + "_TOTAL"}, {"intValue", std::to_string(step.parts)}});
        from = step.until;
    }
    return metrics;
}

} // namespace

std::chrono::milliseconds usualDuration(const OperationRecord &operation, const json &cluster)
{
    if (operation.type == "CREATE_CLUSTER")
        return 6min;
    if (operation.type == "DELETE_CLUSTER")
        return 5min;
    if (operation.type == "CREATE_NODE_POOL")
        return hasAccelerator(cluster, operation.pool) ? 5min : 90s;
    if (operation.type == "DELETE_NODE_POOL")
        return 3min;
    if (operation.type == "UPGRADE_MASTER" || operation.type == "UPGRADE_NODES")
        return 8min;
    return 2min;
}

bool showProgress(OperationRecord &operation, double done, std::string_view hostWords)
{
    std::string words;
    json metrics
        = operation.pool.empty() ? metricsOf(kClusterSteps, done, words) : metricsOf(kPoolSteps, done, words);
    if (!hostWords.empty())
        words += " (" + std::string(hostWords) + ")";
    const json before = operation.wire;
    operation.wire["status"] = "RUNNING";
    operation.wire["detail"] = words;
    operation.wire["progress"] = {{"metrics", std::move(metrics)}};
    return operation.wire != before;
}

void showEnd(OperationRecord &operation, const Error *error, const std::string &conditionCode,
             const std::string &timestamp)
{
    json &wire = operation.wire;
    wire["status"] = "DONE";
    wire["endTime"] = timestamp;
    wire.erase("progress");
    wire.erase("detail"); // gcloud warns of a detail that is left
    if (!error)
        return;
    wire["statusMessage"] = error->message;
    wire["detail"] = error->message;
    wire["error"] = {{"code", rpcNumber(error->code)}, {"message", error->message}};
    json condition{{"canonicalCode", rpcName(error->code)}, {"message", error->message}};
    if (!conditionCode.empty())
        condition["code"] = conditionCode;
    wire[operation.pool.empty() ? "clusterConditions" : "nodepoolConditions"] = json::array({condition});
}

} // namespace cluster::local
