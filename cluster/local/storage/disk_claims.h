#pragma once

#include "cluster/base/result.h"
#include "cluster/kube/kube_client.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

inline constexpr const char *diskDriver = "pd.csi.storage.gke.io";
/// Keeps a PersistentVolume until its disk has been deleted, as the external provisioner does it.
inline constexpr const char *diskFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";

/// Where new disks are said to be.
struct DiskPlace
{
    std::string project, zone;
};

/// The driver that a claim waits for is ours, and it waits for nothing else: it has no volume yet, and a node
/// where its class wants one first.
bool isDue(const nlohmann::json &claim, const nlohmann::json &storageClass);

/// The PersistentVolume for a claim, as GKE's Persistent Disk driver makes it. Errors in the driver's words:
/// InvalidArgument (access modes, size or type that no disk has), Unimplemented (snapshots).
Result<nlohmann::json> volumeFor(const nlohmann::json &claim, const nlohmann::json &storageClass,
                                 const DiskPlace &place);

/// The disk that a volume is on: the last part of its handle. Empty: none of the driver's.
std::string diskOf(const nlohmann::json &volume);

/// The disk goes with the volume, now.
bool isToBeDeleted(const nlohmann::json &volume);

/// What a GKE cluster has from the start: its StorageClasses and CSIDrivers.
Status makeStorageObjects(KubeClient &client, bool hasBuckets);

} // namespace cluster::local
