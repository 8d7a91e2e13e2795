#include "cluster/local/nodeagent/volumes.h"

#include "cluster/local/nodeagent/json_fields.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *bucketDriver = "gcsfuse.csi.storage.gke.io";

unsigned modeOf(const json &object, const char *name, unsigned fallback)
{
    return static_cast<unsigned>(numberOf(object, name, fallback)) & 0777U;
}

/// Adds the files of a Secret or ConfigMap: all, or those that `items` picks.
Status addKeys(const VolumesInput &input, const json &source, bool isSecret, unsigned defaultMode,
               FolderContent &content)
{
    const std::string name
        = textOf(source, isSecret && source.contains("secretName") ? "secretName" : "name");
    const bool isOptional = flagOf(source, "optional");
    const auto object = input.objectOf(isSecret ? "secrets" : "configmaps", name);
    if (!object) {
        if (object.error().code != ErrorCode::NotFound)
            return tl::unexpected(object.error());
        if (isOptional)
            return {};
        return fail(ErrorCode::NotFound, (isSecret ? "secret \"" : "configmap \"") + name + "\" not found");
    }
    std::map<std::string, std::string> values;
    for (const char *part : {"data", "binaryData"}) {
        const json &data = fieldOf(*object, part);
        const bool isEncoded = isSecret || std::string_view(part) == "binaryData";
        if (!data.is_object())
            continue;
        for (const auto &[key, value] : data.items()) {
            if (value.is_string())
                values[key] = isEncoded ? decodeBase64(value.get<std::string>()) : value.get<std::string>();
        }
    }
    const json &items = itemsOf(source, "items");
    if (items.empty()) {
        for (auto &[key, value] : values)
            content[key] = {std::move(value), defaultMode};
        return {};
    }
    for (const json &item : items) {
        const auto found = values.find(textOf(item, "key"));
        if (found != values.end())
            content[textOf(item, "path")] = {found->second, modeOf(item, "mode", defaultMode)};
        else if (!isOptional)
            return fail(ErrorCode::NotFound,
                        std::string(isSecret ? "references" : "configmap references") + " non-existent "
                            + (isSecret ? "secret key: " : "config key: ") + textOf(item, "key"));
    }
    return {};
}

Status addDownward(const VolumesInput &input, const json &source, unsigned defaultMode,
                   FolderContent &content)
{
    for (const json &item : itemsOf(source, "items")) {
        const json &field = fieldOf(item, "fieldRef");
        const auto value = field.is_object()
            ? fieldReference(input.pod, textOf(field, "fieldPath"), input.podAddress, input.hostAddress)
            : resourceReference(input.pod, fieldOf(item, "resourceFieldRef"), {}, input.node);
        if (!value)
            return tl::unexpected(value.error());
        content[textOf(item, "path")] = {*value, modeOf(item, "mode", defaultMode)};
    }
    return {};
}

Status addProjected(const VolumesInput &input, const json &volume, FolderContent &content)
{
    const unsigned mode = modeOf(volume, "defaultMode", 0644);
    for (const json &source : itemsOf(volume, "sources")) {
        Status added;
        if (const json &secret = fieldOf(source, "secret"); secret.is_object())
            added = addKeys(input, secret, true, mode, content);
        else if (const json &map = fieldOf(source, "configMap"); map.is_object())
            added = addKeys(input, map, false, mode, content);
        else if (const json &downward = fieldOf(source, "downwardAPI"); downward.is_object())
            added = addDownward(input, downward, mode, content);
        else if (const json &token = fieldOf(source, "serviceAccountToken"); token.is_object()) {
            const auto made
                = input.tokenOf(textOf(token, "audience"), numberOf(token, "expirationSeconds", 3600));
            if (!made)
                return tl::unexpected(made.error());
            content[textOf(token, "path")] = {made->token, mode & 0600U};
        }
        if (!added)
            return added;
    }
    return {};
}

void addOptions(const std::string &list, std::vector<std::string> &options)
{
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        options.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
}

/// \param csi  Of the pod's volume, or of the PersistentVolume: there the handle names the bucket.
Result<fs::path> bucketFolder(const VolumesInput &input, const json &csi, BucketVolume volume)
{
    const json &attributes = fieldOf(csi, "volumeAttributes");
    volume.bucket = textOf(csi, "volumeHandle", textOf(attributes, "bucketName"));
    volume.isReadOnly = volume.isReadOnly || flagOf(csi, "readOnly");
    addOptions(textOf(attributes, "mountOptions"), volume.mountOptions);
    if (input.buckets == nullptr)
        return fail(ErrorCode::FailedPrecondition,
                    std::string("kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name ")
                        + bucketDriver + " not found in the list of registered CSI drivers");
    // GKE's webhook adds GCS FUSE's sidecar to pods with this annotation, and its driver looks for that.
    const json &annotations = fieldOf(fieldOf(*input.pod.object, "metadata"), "annotations");
    if (textOf(annotations, "gke-gcsfuse/volumes") != "true")
        return fail(
            ErrorCode::FailedPrecondition,
            "rpc error: code = FailedPrecondition desc = failed to find the sidecar container in Pod spec");
    return input.buckets->mount(volume, input.pod.uid);
}

Result<fs::path> made(const fs::path &folder)
{
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        return fail(ErrorCode::Internal, "can't make '" + folder.string() + "': " + error.message());
    return folder;
}

bool isBelow(const fs::path &path, const fs::path &root)
{
    const auto [rest, unused] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
    return rest == root.end() || (std::next(rest) == root.end() && rest->empty());
}

Result<fs::path> hostFolder(const VolumesInput &input, const json &volume)
{
    std::error_code error;
    const std::string wanted = textOf(volume, "path"), type = textOf(volume, "type");
    // Links and dots are resolved first: only where it really leads counts.
    const fs::path path = fs::weakly_canonical(wanted, error);
    const bool isAllowed
        = !error && std::any_of(input.hostPaths.begin(), input.hostPaths.end(), [&](const fs::path &root) {
              std::error_code ignored;
              return isBelow(path, fs::weakly_canonical(root, ignored));
          });
    if (!isAllowed)
        return fail(ErrorCode::PermissionDenied,
                    "hostPath '" + wanted + "' is not below a folder that pods may use on this machine");
    if (type == "DirectoryOrCreate" || (type == "FileOrCreate" && fs::exists(path, error)))
        return type == "FileOrCreate" ? Result<fs::path>(path) : made(path);
    if (!fs::exists(path, error) && !type.empty())
        return fail(ErrorCode::NotFound, "hostPath type check failed: " + wanted + " is not a " + type);
    return path;
}

Result<fs::path> claimFolder(const VolumesInput &input, const std::string &claim, bool isReadOnly)
{
    const auto object = input.objectOf("persistentvolumeclaims", claim);
    if (!object)
        return fail(object.error().code,
                    object.error().code == ErrorCode::NotFound
                        ? "persistentvolumeclaim \"" + claim + "\" not found"
                        : object.error().message);
    const std::string volumeName = textOf(fieldOf(*object, "spec"), "volumeName");
    if (volumeName.empty() || !isSafeName(volumeName))
        return fail(ErrorCode::FailedPrecondition, "PersistentVolumeClaim \"" + claim + "\" is not bound");
    const auto volume = input.clusterObjectOf("persistentvolumes", volumeName);
    if (!volume)
        return fail(volume.error().code, volume.error().message);
    const json &spec = fieldOf(*volume, "spec"), &csi = fieldOf(spec, "csi");
    if (textOf(csi, "driver") == bucketDriver)
        return bucketFolder(input, csi, {{}, textsOf(spec, "mountOptions"), isReadOnly});
    // Two volumes of one disk (a writer's, and one to read it from many nodes) are the same folder.
    const std::string handle = textOf(csi, "volumeHandle"), disk = handle.substr(handle.rfind('/') + 1);
    const std::string name = isSafeName(disk) ? disk : volumeName;
    return input.diskFolder ? input.diskFolder(name) : made(input.disksFolder / name);
}

Result<fs::path> prepareVolume(const VolumesInput &input, const json &volume)
{
    const std::string name = textOf(volume, "name");
    if (!isSafeName(name))
        return fail(ErrorCode::InvalidArgument, "'" + name + "' is no name of a volume");
    const fs::path own = input.folder / "volumes" / name;
    FolderContent content;
    Status added;
    if (const json &secret = fieldOf(volume, "secret"); secret.is_object())
        added = addKeys(input, secret, true, modeOf(secret, "defaultMode", 0644), content);
    else if (const json &map = fieldOf(volume, "configMap"); map.is_object())
        added = addKeys(input, map, false, modeOf(map, "defaultMode", 0644), content);
    else if (const json &projected = fieldOf(volume, "projected"); projected.is_object())
        added = addProjected(input, projected, content);
    else if (const json &downward = fieldOf(volume, "downwardAPI"); downward.is_object())
        added = addDownward(input, downward, modeOf(downward, "defaultMode", 0644), content);
    else if (fieldOf(volume, "emptyDir").is_object())
        return made(own);
    else if (fieldOf(volume, "ephemeral").is_object())
        return claimFolder(input, input.pod.name + "-" + name, false);
    else if (const json &host = fieldOf(volume, "hostPath"); host.is_object())
        return hostFolder(input, host);
    else if (const json &claim = fieldOf(volume, "persistentVolumeClaim"); claim.is_object())
        return claimFolder(input, textOf(claim, "claimName"), flagOf(claim, "readOnly"));
    else if (const json &csi = fieldOf(volume, "csi"); textOf(csi, "driver") == bucketDriver)
        return bucketFolder(input, csi, {});
    else
        return fail(ErrorCode::Unimplemented, "this kind of volume is not played on this machine");
    if (added)
        added = writeFolder(own, content);
    if (!added)
        return tl::unexpected(added.error());
    return own;
}

/// All that mount it may only read.
bool isReadOnlyVolume(const PodSpec &pod, const std::string &name)
{
    for (const json &volume : itemsOf(fieldOf(*pod.object, "spec"), "volumes")) {
        if (textOf(volume, "name") == name)
            return flagOf(fieldOf(volume, "csi"), "readOnly")
                || flagOf(fieldOf(volume, "persistentVolumeClaim"), "readOnly");
    }
    return false;
}

} // namespace

Result<VolumePaths> prepareVolumes(const VolumesInput &input)
{
    VolumePaths paths;
    for (const json &volume : itemsOf(fieldOf(*input.pod.object, "spec"), "volumes")) {
        auto path = prepareVolume(input, volume);
        if (!path)
            return fail(path.error().code,
                        "MountVolume.SetUp failed for volume \"" + textOf(volume, "name")
                            + "\" : " + path.error().message);
        paths[textOf(volume, "name")] = std::move(*path);
    }
    return paths;
}

bool mayHaveBuckets(const PodSpec &pod)
{
    for (const json &volume : itemsOf(fieldOf(*pod.object, "spec"), "volumes")) {
        if (volume.contains("csi") || volume.contains("persistentVolumeClaim"))
            return true;
    }
    return false;
}

bool hasLiveVolumes(const PodSpec &pod)
{
    for (const json &volume : itemsOf(fieldOf(*pod.object, "spec"), "volumes")) {
        for (const char *kind : {"secret", "configMap", "projected", "downwardAPI"}) {
            if (volume.contains(kind))
                return true;
        }
    }
    return false;
}

Result<std::vector<ContainerMount>> containerMounts(const PodSpec &pod, std::size_t container,
                                                    const VolumePaths &volumes,
                                                    const Environment &environment)
{
    std::vector<ContainerMount> mounts;
    for (const char *list : {"initContainers", "containers", "ephemeralContainers"}) {
        for (const json &object : itemsOf(fieldOf(*pod.object, "spec"), list)) {
            if (textOf(object, "name") != pod.containers[container].name)
                continue;
            for (const json &mount : itemsOf(object, "volumeMounts")) {
                const auto volume = volumes.find(textOf(mount, "name"));
                if (volume == volumes.end())
                    return fail(ErrorCode::NotFound, "there is no volume \"" + textOf(mount, "name") + "\"");
                fs::path source = volume->second;
                const std::string inner = mount.contains("subPathExpr")
                    ? expandReferences(textOf(mount, "subPathExpr"), environment)
                    : textOf(mount, "subPath");
                if (!inner.empty()) {
                    if (!isInnerPath(inner))
                        return fail(ErrorCode::InvalidArgument,
                                    "failed to prepare subPath for volumeMount \"" + volume->first
                                        + "\" of container \"" + pod.containers[container].name + "\"");
                    source /= inner;
                    std::error_code error;
                    if (!fs::exists(source, error))
                        fs::create_directories(source, error);
                }
                mounts.push_back({source, textOf(mount, "mountPath"),
                                  flagOf(mount, "readOnly") || isReadOnlyVolume(pod, volume->first)});
            }
        }
    }
    std::stable_sort(mounts.begin(), mounts.end(), [](const ContainerMount &a, const ContainerMount &b) {
        return a.target.size() < b.target.size();
    });
    return mounts;
}

} // namespace cluster::local
