#include "cluster/local/storage/disk_claims.h"

#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/pod_spec.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr double gibibyte = 1024.0 * 1024 * 1024;

struct DiskKind
{
    const char *name;
    int smallest, largest; ///< GiB
};

constexpr DiskKind kinds[] = {
    {"pd-standard", 1, 65536},
    {"pd-balanced", 1, 65536},
    {"pd-ssd", 1, 65536},
    {"pd-extreme", 500, 65536},
    {"hyperdisk-balanced", 4, 65536},
    {"hyperdisk-extreme", 64, 65536},
    {"hyperdisk-throughput", 2048, 32768},
    {"hyperdisk-ml", 4, 65536},
    {"hyperdisk-balanced-high-availability", 4, 65536},
};

tl::unexpected<Error> refused(const std::string &text)
{
    return fail(ErrorCode::InvalidArgument, "rpc error: code = InvalidArgument desc = " + text);
}

std::string annotationOf(const json &object, const char *name)
{
    return textOf(fieldOf(fieldOf(object, "metadata"), "annotations"), name);
}

bool isOurs(const std::string &provisioner)
{
    // The old name means the same driver since in-tree volumes have gone.
    return provisioner == diskDriver || provisioner == "kubernetes.io/gce-pd";
}

Status checkModes(const json &claim, const std::string &kind)
{
    const auto modes = textsOf(fieldOf(claim, "spec"), "accessModes");
    const std::set<std::string> wanted(modes.begin(), modes.end());
    const bool isFiles = textOf(fieldOf(claim, "spec"), "volumeMode", "Filesystem") == "Filesystem";
    if (wanted.contains("ReadWriteMany") && isFiles)
        return refused("VolumeCapabilities is invalid: specified multi writer with mount access type");
    if (wanted.contains("ReadOnlyMany") && kind != "hyperdisk-ml")
        return refused("VolumeContentSource must be provided when AccessMode is set to read only");
    if (!isFiles)
        return fail(ErrorCode::Unimplemented, "raw block volumes are not played on this machine");
    return {};
}

json storageClassObject(const char *name, const char *provisioner, const char *type, const char *mode)
{
    return {
        {"apiVersion", "storage.k8s.io/v1"},
        {"kind", "StorageClass"},
        {"metadata", {{"name", name}, {"labels", {{"k8s-app", "gcp-compute-persistent-disk-csi-driver"}}}}},
        {"provisioner", provisioner},
        {"parameters", {{"type", type}}},
        {"reclaimPolicy", "Delete"},
        {"volumeBindingMode", mode},
        {"allowVolumeExpansion", true}};
}

json driverObject(const char *name, json spec)
{
    return {{"apiVersion", "storage.k8s.io/v1"},
            {"kind", "CSIDriver"},
            {"metadata", {{"name", name}}},
            {"spec", std::move(spec)}};
}

} // namespace

bool isDue(const json &claim, const json &storageClass)
{
    std::string provisioner = annotationOf(claim, "volume.kubernetes.io/storage-provisioner");
    if (provisioner.empty())
        provisioner = annotationOf(claim, "volume.beta.kubernetes.io/storage-provisioner");
    const json &spec = fieldOf(claim, "spec");
    if (!isOurs(provisioner) || !textOf(spec, "volumeName").empty()
        || fieldOf(fieldOf(claim, "metadata"), "deletionTimestamp").is_string())
        return false;
    return textOf(storageClass, "volumeBindingMode") != "WaitForFirstConsumer"
        || !annotationOf(claim, "volume.kubernetes.io/selected-node").empty();
}

Result<json> volumeFor(const json &claim, const json &storageClass, const DiskPlace &place)
{
    const json &metadata = fieldOf(claim, "metadata"), &spec = fieldOf(claim, "spec");
    const std::string kind = textOf(fieldOf(storageClass, "parameters"), "type", "pd-standard");
    const auto known = std::find_if(std::begin(kinds), std::end(kinds),
                                    [&](const DiskKind &other) { return kind == other.name; });
    if (known == std::end(kinds))
        return refused(
            "CreateVolume failed to create single zonal disk: unknown Insert disk error: googleapi: "
            "Error 400: Invalid value for field 'resource.type': '"
            + kind + "'., invalid");
    if (Status modes = checkModes(claim, kind); !modes)
        return tl::unexpected(modes.error());
    if (fieldOf(spec, "dataSource").is_object() || fieldOf(spec, "dataSourceRef").is_object())
        return fail(ErrorCode::Unimplemented,
                    "disks of snapshots, images and clones are not played on this machine");
    const double bytes
        = parseQuantity(fieldOf(fieldOf(fieldOf(spec, "resources"), "requests"), "storage")).value_or(0);
    const double size = std::max(1.0, std::ceil(bytes / gibibyte));
    if (size < known->smallest || size > known->largest)
        return refused("CreateVolume failed to create single zonal disk: googleapi: Error 400: Disk size '"
                       + std::to_string(static_cast<long long>(size)) + "' GB is not in the range of '" + kind
                       + "': " + std::to_string(known->smallest) + " to " + std::to_string(known->largest)
                       + " GB., invalid");
    const std::string name = "pvc-" + textOf(metadata, "uid");
    json volume{{"apiVersion", "v1"}, {"kind", "PersistentVolume"}};
    volume["metadata"] = {{"name", name},
                          {"finalizers", {diskFinalizer}},
                          {"annotations", {{"pv.kubernetes.io/provisioned-by", diskDriver}}}};
    json &made = volume["spec"];
    made["accessModes"] = fieldOf(spec, "accessModes");
    made["capacity"]["storage"] = std::to_string(static_cast<long long>(size)) + "Gi";
    made["claimRef"] = {{"apiVersion", "v1"},
                        {"kind", "PersistentVolumeClaim"},
                        {"namespace", textOf(metadata, "namespace")},
                        {"name", textOf(metadata, "name")},
                        {"uid", textOf(metadata, "uid")},
                        {"resourceVersion", textOf(metadata, "resourceVersion")}};
    made["csi"]
        = {{"driver", diskDriver},
           {"fsType", textOf(fieldOf(storageClass, "parameters"), "csi.storage.k8s.io/fstype", "ext4")},
           {"volumeHandle", "projects/" + place.project + "/zones/" + place.zone + "/disks/" + name}};
    json zone{{"key", "topology.gke.io/zone"}, {"operator", "In"}, {"values", {place.zone}}};
    json term{{"matchExpressions", json::array({std::move(zone)})}};
    made["nodeAffinity"]["required"]["nodeSelectorTerms"] = json::array({std::move(term)});
    made["persistentVolumeReclaimPolicy"] = textOf(storageClass, "reclaimPolicy", "Delete");
    made["storageClassName"] = textOf(fieldOf(storageClass, "metadata"), "name");
    made["volumeMode"] = "Filesystem";
    if (const json &options = fieldOf(storageClass, "mountOptions"); options.is_array())
        made["mountOptions"] = options;
    return volume;
}

std::string diskOf(const json &volume)
{
    const json &csi = fieldOf(fieldOf(volume, "spec"), "csi");
    const std::string handle = textOf(csi, "volumeHandle");
    return textOf(csi, "driver") == diskDriver ? handle.substr(handle.rfind('/') + 1) : std::string();
}

bool isToBeDeleted(const json &volume)
{
    const json &metadata = fieldOf(volume, "metadata");
    if (annotationOf(volume, "pv.kubernetes.io/provisioned-by") != diskDriver
        || textOf(fieldOf(volume, "spec"), "persistentVolumeReclaimPolicy") != "Delete")
        return false;
    const std::string phase = textOf(fieldOf(volume, "status"), "phase");
    const bool isDeleted = fieldOf(metadata, "deletionTimestamp").is_string();
    // kubernetes.io/pv-protection holds a deleted one while it is bound.
    const auto finalizers = textsOf(metadata, "finalizers");
    const bool isHeld
        = std::find(finalizers.begin(), finalizers.end(), "kubernetes.io/pv-protection") != finalizers.end();
    return phase == "Released" || (isDeleted && !isHeld);
}

Status makeStorageObjects(KubeClient &client, bool hasBuckets)
{
    const char *late = "WaitForFirstConsumer";
    json usual = storageClassObject("standard-rwo", diskDriver, "pd-balanced", late);
    usual["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] = "true";
    std::vector<std::pair<const char *, json>> objects{
        {"storageclasses", std::move(usual)},
        {"storageclasses", storageClassObject("premium-rwo", diskDriver, "pd-ssd", late)},
        {"storageclasses",
         storageClassObject("standard", "kubernetes.io/gce-pd", "pd-standard", "Immediate")},
        // GKE attaches disks; here a disk is a folder, and nobody attaches it.
        {"csidrivers", driverObject(diskDriver, {{"attachRequired", false}, {"podInfoOnMount", false}})}};
    if (hasBuckets)
        objects.emplace_back("csidrivers",
                             driverObject("gcsfuse.csi.storage.gke.io",
                                          {{"attachRequired", false},
                                           {"podInfoOnMount", true},
                                           {"requiresRepublish", true},
                                           {"volumeLifecycleModes", {"Persistent", "Ephemeral"}}}));
    for (const auto &[plural, object] : objects) {
        const auto made = client.create(apiGroup("storage.k8s.io", "v1", plural), object);
        if (!made && made.error().code != ErrorCode::AlreadyExists)
            return tl::unexpected(made.error());
    }
    return {};
}

} // namespace cluster::local
