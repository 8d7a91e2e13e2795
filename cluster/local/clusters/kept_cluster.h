#pragma once

#include "cluster/local/gcp/cluster_host.h"

#include <cstdint>
#include <filesystem>

namespace cluster::local {

/// What is kept of a cluster in its folder (cluster.json), so that the next process brings it back.
struct KeptCluster
{
    ClusterSpec spec;
    int index = 0; ///< of its AddressPlan
    std::vector<PoolSpec> pools;
    std::uint16_t apiPort = 0; ///< of 127.0.0.1, where clients find the API server; 0: none was taken yet
    bool isAsleep = false; ///< its control plane was stopped since nobody used it
};

[[nodiscard]] Status writeRecord(const std::filesystem::path &folder, const KeptCluster &record);

/// Errors: NotFound, DataLoss (the file can't be understood).
[[nodiscard]] Result<KeptCluster> readRecord(const std::filesystem::path &folder);

} // namespace cluster::local
