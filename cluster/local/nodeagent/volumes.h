#pragma once

#include "cluster/local/nodeagent/atomic_folder.h"
#include "cluster/local/nodeagent/bucket_volumes.h"
#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/node_agent.h"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// A service account token for a projected volume.
struct ServiceToken
{
    std::string token;
    Time renewAt;
};

/// Asks the API server for a token bound to the pod.
using TokenOf = std::function<Result<ServiceToken>(const std::string &audience, std::int64_t seconds)>;

struct VolumesInput
{
    const PodSpec &pod;
    std::filesystem::path folder; ///< of the pod: volumes are made in folder/volumes
    std::filesystem::path disksFolder; ///< of all claims without a folder of their own
    std::string podAddress, hostAddress; ///< 127.a.b.c
    const nlohmann::json &node;
    ObjectOf objectOf; ///< also "persistentvolumeclaims"
    ObjectOf clusterObjectOf; ///< "persistentvolumes"
    TokenOf tokenOf;
    std::vector<std::filesystem::path> hostPaths;
    BucketVolumes *buckets; ///< may be null
    FolderOf diskFolder;
};

/// Name of a volume -> its folder (or file) on this machine.
using VolumePaths = std::map<std::string, std::filesystem::path>;

/// Makes all volumes of a pod. Called again it brings Secrets, ConfigMaps, tokens and the downward API up to
/// date and leaves the rest. Errors are worth a FailedMount event: `MountVolume.SetUp failed for volume "x" :
/// …`. Blocks.
Result<VolumePaths> prepareVolumes(const VolumesInput &input);

/// Of GCS FUSE, by themselves or through a claim: what it has written is handed on when it ends.
bool mayHaveBuckets(const PodSpec &pod);

/// Volumes that change while the pod runs.
bool hasLiveVolumes(const PodSpec &pod);

struct ContainerMount
{
    std::filesystem::path source;
    std::string target; ///< absolute, as the container sees it
    bool isReadOnly = false;
};

/// A container's volumeMounts in an order in which none hides another. InvalidArgument for a subPath that
/// leaves its volume; `expand` resolves subPathExpr.
Result<std::vector<ContainerMount>> containerMounts(const PodSpec &pod, std::size_t container,
                                                    const VolumePaths &volumes,
                                                    const Environment &environment);

} // namespace cluster::local
