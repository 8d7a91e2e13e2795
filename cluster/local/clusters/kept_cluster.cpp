#include "cluster/local/clusters/kept_cluster.h"

#include "cluster/local/files/whole_files.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NodeTaint, key, value, effect)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(PoolSpec, name, machineType, zones, nodeCount, tpuTopology,
                                                tpuAccelerator, tpuChipsPerNode, isMultiHost, gpuAccelerator,
                                                gpusPerNode, gpuDriverVersion, provisioning, isAutoscaled,
                                                minNodes, maxNodes, isAutoCreated, isAutopilot, computeClass,
                                                reservationName, acceleratorNetworkProfile, labels, taints,
                                                imageType, diskType, diskGb, maxPodsPerNode, localSsdCount,
                                                hidesMachine, version)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ClusterSpec, id, project, location, name, zones, version,
                                                autopilot, rayOperator, gcsFuse, horizontalPodAutoscaling,
                                                httpLoadBalancing, dataplaneV2, managedPrometheus,
                                                nodeAutoProvisioning, workloadPool, labels)

namespace {

nlohmann::json toJson(const KeptCluster &record)
{
    return {{"spec", record.spec},
            {"index", record.index},
            {"pools", record.pools},
            {"apiPort", record.apiPort},
            {"asleep", record.isAsleep}};
}

KeptCluster fromJson(const nlohmann::json &json)
{
    return {json.at("spec").get<ClusterSpec>(), json.at("index").get<int>(),
            json.at("pools").get<std::vector<PoolSpec>>(), json.value("apiPort", std::uint16_t{0}),
            json.value("asleep", false)};
}

std::filesystem::path fileIn(const std::filesystem::path &folder)
{
    return folder / "cluster.json";
}

} // namespace

Status writeRecord(const std::filesystem::path &folder, const KeptCluster &record)
{
    return writeWholeFile(fileIn(folder), toJson(record).dump(2) + "\n");
}

Result<KeptCluster> readRecord(const std::filesystem::path &folder)
{
    const Result<std::string> text = readWholeFile(fileIn(folder), std::size_t{16} << 20);
    if (!text)
        return tl::unexpected(text.error());
    try {
        return fromJson(nlohmann::json::parse(*text));
    } catch (const nlohmann::json::exception &error) {
        return fail(ErrorCode::DataLoss,
                    fileIn(folder).string() + " can't be read (" + error.what()
                        + "): 'slipwayctl local reset' starts anew");
    }
}

} // namespace cluster::local
