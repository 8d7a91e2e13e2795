#include "cluster/local/gcp/operation_work.h"

#include "cluster/local/gcp/cluster_json.h"
#include "cluster/local/gcp/ip_space.h"
#include "cluster/local/gcp/wire_values.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

WorkError workError(const Error &error)
{
    return {error, {}};
}

tl::expected<PoolSpec, WorkError> specOf(const json &pool, const ClusterRecord &cluster)
{
    try {
        auto request = poolRequestOf(pool, surroundingsOf(cluster.wire), GkeCatalog::builtIn(),
                                     ComputeCatalog::builtIn());
        if (request)
            return std::move(request->spec);
        return tl::unexpected(WorkError{{request.error().code, request.error().message}, {}});
    } catch (const json::exception &error) {
        return tl::unexpected(WorkError{{ErrorCode::Internal, error.what()}, {}});
    }
}

FaultContext contextOf(const OperationRecord &operation, const json *pool)
{
    FaultContext context;
    context.service = "container";
    context.location = operation.cluster.location;
    context.cluster = operation.cluster.name;
    context.pool = operation.pool;
    context.operation = operation.type;
    if (!pool)
        return context;
    context.pool = pool->value("name", std::string());
    if (const auto config = pool->find("config"); config != pool->end())
        context.machineType = config->value("machineType", std::string());
    if (const auto zones = pool->find("locations"); zones != pool->end() && !zones->empty())
        context.location = zones->front().get<std::string>();
    return context;
}

bool isPoolType(const OperationRecord &operation)
{
    return !operation.pool.empty();
}

/// Why machines did not come, as GKE words it, by the kind of pool.
std::string failureWords(const json &pool, const std::string &code, const std::string &reason)
{
    const bool isSlice = pool.contains("placementPolicy") && pool["placementPolicy"].contains("tpuTopology");
    if (isSlice)
        return "Google Compute Engine: Atomic resize failed with [" + code + "]: " + reason;
    const std::string count = std::to_string(pool.value("initialNodeCount", 0));
    return "Google Compute Engine: Not all instances running in IGM after 35m0s. Expected " + count
        + ", running 0, transitioning " + count + ". Current errors: [" + code + "]: " + reason;
}

std::string stockoutWords(const ClusterRecord &cluster, const json &pool, const std::string &zone)
{
    const std::string name = pool.value("name", std::string());
    const std::string reason = "Instance 'gke-" + cluster.key.name + "-" + name
        + "-0' creation failed: The zone 'projects/" + cluster.key.project + "/zones/" + zone
        + "' does not have enough resources available to fulfill the request. Try a different zone, or try "
          "again later.";
    return failureWords(pool, "GCE_STOCKOUT", reason);
}

/// The same for a range of addresses that is too small.
WorkError exhaustion(const ClusterRecord &cluster, const json &pool, const ExhaustedRange &range)
{
    const std::string reason = "Instance 'gke-" + cluster.key.name + "-" + pool.value("name", std::string())
        + "-0' creation failed: " + wordsOf(range);
    return {{ErrorCode::ResourceExhausted, failureWords(pool, "IP_SPACE_EXHAUSTED_WITH_DETAILS", reason)},
            "IP_SPACE_EXHAUSTED_WITH_DETAILS"};
}

void setPoolsStatus(ClusterRecord &cluster, const char *status)
{
    for (json &pool : cluster.wire["nodePools"])
        pool["status"] = status;
}

void markFailed(json &resource, const WorkError &error)
{
    resource["status"] = "ERROR";
    resource["statusMessage"] = error.error.message;
    json condition{{"canonicalCode", rpcName(error.error.code)}, {"message", error.error.message}};
    if (!error.condition.empty())
        condition["code"] = error.condition;
    resource["conditions"] = json::array({std::move(condition)});
}

void markWell(json &resource)
{
    resource["status"] = "RUNNING";
    resource.erase("statusMessage");
    resource.erase("conditions");
}

} // namespace

std::optional<WorkError> OperationWork::stockout(const OperationRecord &operation,
                                                 const ClusterRecord &cluster, const json &pool)
{
    if (pool.value("initialNodeCount", 0) == 0)
        return std::nullopt; // nothing is asked of Compute Engine
    const FaultContext context = contextOf(operation, &pool);
    const auto fault = m_context.faults.strike(FaultKind::Stockout, context);
    if (!fault)
        return std::nullopt;
    WorkError error; // member by member: as one expression GCC 12 at -O3 takes a part of it for uninitialized
    error.error.code = ErrorCode::ResourceExhausted;
    error.error.message
        = fault->message.empty() ? stockoutWords(cluster, pool, context.location) : fault->message;
    error.condition = "GCE_STOCKOUT";
    return error;
}

std::optional<WorkError> OperationWork::plannedFailure(const OperationRecord &operation,
                                                       const ClusterRecord &cluster)
{
    const bool takesMachines = operation.type == "CREATE_CLUSTER" || operation.type == "CREATE_NODE_POOL"
        || operation.type == "SET_NODE_POOL_SIZE";
    const auto pools = cluster.wire.find("nodePools");
    if (takesMachines && pools != cluster.wire.end()) {
        for (const json &pool : *pools) {
            if (isPoolType(operation) && pool.value("name", std::string()) != operation.pool)
                continue;
            const auto range = pool.value("initialNodeCount", 0) > 0
                ? exhaustedRange(cluster.wire, cluster.key.project)
                : std::nullopt;
            if (range)
                return exhaustion(cluster, pool, *range);
            if (auto found = stockout(operation, cluster, pool))
                return found;
        }
    }
    const auto fault = m_context.faults.strike(FaultKind::FailedOperation, contextOf(operation, nullptr));
    if (!fault)
        return std::nullopt;
    WorkError error;
    error.error.code = ErrorCode::Internal;
    error.error.message = fault->message.empty()
        ? "An internal error has occurred. (a fault on order: " + fault->id + ")"
        : fault->message;
    return error;
}

OperationWork::Outcome OperationWork::createCluster(const ClusterRecord &cluster, const StageHandler &onStage,
                                                    const CancelToken &cancel)
{
    const ClusterSpec spec = clusterSpecOf(cluster);
    auto endpoint = m_host.createCluster(
        spec, [&](std::string_view words, double done) { onStage(words, done * 0.8); }, cancel);
    if (!endpoint)
        return tl::unexpected(workError(endpoint.error()));
    if (spec.autopilot)
        return std::move(*endpoint); // its nodes come with the pods
    for (const json &pool : cluster.wire["nodePools"]) {
        auto poolSpec = specOf(pool, cluster);
        if (!poolSpec)
            return tl::unexpected(poolSpec.error());
        const auto made = m_host.createPool(
            cluster.id, *poolSpec,
            [&](std::string_view words, double done) { onStage(words, 0.8 + done * 0.2); }, cancel);
        if (!made)
            return tl::unexpected(workError(made.error()));
    }
    return std::move(*endpoint);
}

OperationWork::Outcome OperationWork::changePool(const OperationRecord &operation, ClusterRecord &cluster,
                                                 const StageHandler &onStage, const CancelToken &cancel)
{
    Status done;
    if (operation.type == "DELETE_NODE_POOL") {
        done = m_host.deletePool(cluster.id, operation.pool, onStage, cancel);
        if (!done && done.error().code == ErrorCode::NotFound)
            done = {}; // a pool that never came to be
    } else {
        const json *pool = cluster.pool(operation.pool);
        if (!pool)
            return tl::unexpected(WorkError{{ErrorCode::Internal, "the node pool is gone"}, {}});
        auto spec = specOf(*pool, cluster);
        if (!spec)
            return tl::unexpected(spec.error());
        done = operation.type == "CREATE_NODE_POOL" ? m_host.createPool(cluster.id, *spec, onStage, cancel)
                                                    : m_host.updatePool(cluster.id, *spec, onStage, cancel);
    }
    if (!done)
        return tl::unexpected(workError(done.error()));
    return std::nullopt;
}

OperationWork::Outcome OperationWork::perform(const OperationRecord &operation, ClusterRecord &cluster,
                                              const StageHandler &onStage, const CancelToken &cancel)
{
    if (operation.type == "CREATE_CLUSTER")
        return createCluster(cluster, onStage, cancel);
    if (operation.type == "DELETE_CLUSTER") {
        if (auto gone = m_host.deleteCluster(cluster.id, onStage, cancel); !gone)
            return tl::unexpected(workError(gone.error()));
        return std::nullopt;
    }
    if (isPoolType(operation))
        return changePool(operation, cluster, onStage, cancel);
    if (auto updated = m_host.updateCluster(clusterSpecOf(cluster), onStage, cancel); !updated)
        return tl::unexpected(workError(updated.error()));
    return std::nullopt;
}

void OperationWork::cleanUp(const OperationRecord &operation, const ClusterRecord &cluster,
                            const CancelToken &cancel)
{
    // A slice that did not come whole does not stay in part. What can't be removed goes with the pool.
    if (operation.type == "CREATE_NODE_POOL")
        static_cast<void>(m_host.deletePool(
            cluster.id, operation.pool, [](std::string_view, double) {}, cancel));
}

bool OperationWork::conclude(const OperationRecord &operation, ClusterRecord &cluster, const WorkError *error,
                             const std::optional<ClusterEndpoint> &endpoint) const
{
    json &wire = cluster.wire;
    if (endpoint)
        showEndpoint(wire, *endpoint);
    if (operation.type == "DELETE_CLUSTER") {
        if (error)
            markFailed(wire, *error);
        return error != nullptr;
    }
    if (operation.type == "CREATE_CLUSTER") {
        setPoolsStatus(cluster, error ? "ERROR" : "RUNNING");
        error ? markFailed(wire, *error) : markWell(wire);
        return true;
    }
    markWell(wire);
    if (!isPoolType(operation)) {
        if (error && operation.before.is_object())
            wire = operation.before;
        return true;
    }
    json *pool = cluster.pool(operation.pool);
    if (!pool)
        return true;
    if (!error && operation.type == "DELETE_NODE_POOL") {
        std::erase_if(wire["nodePools"].get_ref<json::array_t &>(), [&](const json &other) {
            return other.value("name", std::string()) == operation.pool;
        });
        return true;
    }
    if (error && operation.before.is_object())
        *pool = operation.before;
    else
        markWell(*pool);
    if (error && (operation.type == "CREATE_NODE_POOL" || operation.type == "DELETE_NODE_POOL"))
        markFailed(*pool, *error);
    return true;
}

void showEndpoint(json &cluster, const ClusterEndpoint &endpoint)
{
    cluster["endpoint"] = endpoint.address;
    cluster["masterAuth"]["clusterCaCertificate"] = base64(endpoint.caPem);
}

} // namespace cluster::local
