#include "cluster/local/nodeagent/device_claims.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodeagent/json_fields.h"
#include "cluster/local/nodeagent/network_claim.h"

#include <algorithm>
#include <cctype>
#include <spdlog/spdlog.h>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *group = "resource.k8s.io";
constexpr const char *driverLabel = "cloud.google.com/gke-networking-dra-driver";

std::string keyOf(const std::string &nameSpace, const std::string &name)
{
    return nameSpace + "/" + name;
}

/// The claim that an entry of spec.resourceClaims stands for. Empty: none is wanted.
Result<std::string> claimNameOf(const PodSpec &pod, const json &entry)
{
    if (fieldOf(entry, "resourceClaimName").is_string())
        return textOf(entry, "resourceClaimName");
    for (const json &known : itemsOf(fieldOf(*pod.object, "status"), "resourceClaimStatuses")) {
        if (textOf(known, "name") == textOf(entry, "name"))
            return textOf(known, "resourceClaimName");
    }
    return fail(ErrorCode::NotFound,
                "pod \"" + pod.nameSpace + "/" + pod.name + "\": ResourceClaim not created yet");
}

bool isOwnedBy(const json &claim, const PodSpec &pod)
{
    const json &owners = itemsOf(fieldOf(claim, "metadata"), "ownerReferences");
    return std::any_of(owners.begin(), owners.end(), [&pod](const json &owner) {
        return flagOf(owner, "controller") && textOf(owner, "uid") == pod.uid;
    });
}

bool isReservedFor(const json &claim, const PodSpec &pod)
{
    const json &users = itemsOf(fieldOf(claim, "status"), "reservedFor");
    return std::any_of(users.begin(), users.end(),
                       [&pod](const json &user) { return textOf(user, "uid") == pod.uid; });
}

bool runsOn(const json &node, const std::string &driver)
{
    return driver == networkDriver
        && textOf(fieldOf(fieldOf(node, "metadata"), "labels"), driverLabel) == "true";
}

template<typename Options>
Options within(const CancelToken &cancel)
{
    Options options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(30));
    return options;
}

} // namespace

/// A claim that a pod needs, found fit for it.
struct DeviceClaims::Needed
{
    std::string name, uid; ///< empty: none
    json claim;
};

DeviceClaims::DeviceClaims(KubeClient &client, fs::path file) : m_client(client), m_file(std::move(file)) {}

Status DeviceClaims::load()
{
    auto claims = readClaimCheckpoint(m_file);
    const std::lock_guard lock(m_mutex);
    if (claims) {
        m_claims = std::move(*claims);
        return {};
    }
    std::error_code error;
    fs::rename(m_file, m_file.string() + ".damaged", error);
    return tl::unexpected(claims.error());
}

Result<DeviceClaims::Needed> DeviceClaims::find(const PodSpec &pod, const json &entry, const json &node,
                                                const CancelToken &cancel)
{
    const auto name = claimNameOf(pod, entry);
    if (!name)
        return tl::unexpected(name.error());
    if (name->empty())
        return Needed{}; // the template made no claim for this pod
    auto claim = m_client.get(apiGroup(group, "v1", "resourceclaims", pod.nameSpace, *name),
                              within<KubeCallOptions>(cancel));
    if (!claim)
        return fail(claim.error().code, "fetch ResourceClaim " + *name + ": " + claim.error().message);
    const std::string uid = textOf(fieldOf(*claim, "metadata"), "uid");
    const bool isGenerated = !fieldOf(entry, "resourceClaimName").is_string();
    if (isGenerated && !isOwnedBy(*claim, pod))
        return fail(ErrorCode::FailedPrecondition,
                    "ResourceClaim " + keyOf(pod.nameSpace, *name) + " was not created for pod "
                        + keyOf(pod.nameSpace, pod.name) + " (pod is not owner)");
    if (!isReservedFor(*claim, pod))
        return fail(ErrorCode::FailedPrecondition,
                    "pod " + pod.name + " (" + pod.uid + ") is not allowed to use ResourceClaim " + *name
                        + " (" + uid + ")");
    const json &allocation = fieldOf(fieldOf(*claim, "status"), "allocation");
    if (!allocation.is_object())
        return fail(ErrorCode::FailedPrecondition, "ResourceClaim " + *name + ": not allocated");
    for (const json &result : itemsOf(fieldOf(allocation, "devices"), "results")) {
        if (const std::string driver = textOf(result, "driver"); !runsOn(node, driver))
            return fail(ErrorCode::FailedPrecondition, "DRA driver " + driver + " is not registered");
    }
    return Needed{*name, uid, std::move(*claim)};
}

/// Notes that the pod uses the claim, before anything is done for it. True: it is prepared already.
Result<bool> DeviceClaims::hold(const PodSpec &pod, const Needed &needed)
{
    const std::lock_guard lock(m_mutex);
    HeldClaim &held = m_claims[keyOf(pod.nameSpace, needed.name)];
    if (!held.uid.empty() && held.uid != needed.uid)
        return fail(ErrorCode::FailedPrecondition,
                    "old ResourceClaim with same name " + needed.name + " and different UID " + held.uid
                        + " still exists (previous pod force-deleted?!)");
    held.nameSpace = pod.nameSpace;
    held.name = needed.name;
    held.uid = needed.uid;
    const bool isNew = held.pods.insert(pod.uid).second;
    if (const Status kept = isNew ? writeClaimCheckpoint(m_file, m_claims) : Status{}; !kept) {
        held.pods.erase(pod.uid);
        if (held.pods.empty())
            m_claims.erase(keyOf(pod.nameSpace, needed.name));
        return fail(kept.error().code, "checkpoint ResourceClaim cache: " + kept.error().message);
    }
    return held.isPrepared;
}

Result<std::vector<ClaimedDevice>> DeviceClaims::prepareDevices(const json &claim, const CancelToken &cancel)
{
    std::vector<json> slices;
    const json &allocated = fieldOf(fieldOf(fieldOf(claim, "status"), "allocation"), "devices");
    std::set<std::string> nodes; // the driver's pools are named after their nodes
    for (const json &result : itemsOf(allocated, "results"))
        nodes.insert(textOf(result, "pool"));
    for (const std::string &node : nodes) {
        KubeListOptions which;
        which.fieldSelector = "spec.nodeName=" + node;
        auto list
            = m_client.list(apiGroup(group, "v1", "resourceslices"), which, within<KubeCallOptions>(cancel));
        if (!list)
            return tl::unexpected(list.error());
        std::move(list->items.begin(), list->items.end(), std::back_inserter(slices));
    }
    return networkDevicesOf(claim, slices);
}

/// What is told is for people and other programs: the pod starts without it.
void DeviceClaims::tell(const HeldClaim &claim, const CancelToken &cancel)
{
    auto options = within<KubeApplyOptions>(cancel);
    options.fieldManager = networkDriver;
    options.force = true;
    const ResourcePath path
        = apiGroup(group, "v1", "resourceclaims", claim.nameSpace, claim.name).sub("status");
    if (const auto told = m_client.apply(path, networkClaimStatus(claim), options); !told)
        spdlog::warn("status of ResourceClaim {}/{}: {}", claim.nameSpace, claim.name, told.error().message);
}

Result<std::vector<ClaimedDevice>> DeviceClaims::prepare(const PodSpec &pod, const json &node,
                                                         const CancelToken &cancel)
{
    // All are looked at before any is noted: a pod that fails here can be deleted without any more to do.
    std::vector<Needed> all;
    for (const json &entry : itemsOf(fieldOf(*pod.object, "spec"), "resourceClaims")) {
        auto needed = find(pod, entry, node, cancel);
        if (!needed)
            return tl::unexpected(needed.error());
        if (!needed->name.empty())
            all.push_back(std::move(*needed));
    }
    std::vector<ClaimedDevice> devices;
    for (const Needed &needed : all) {
        const auto isPrepared = hold(pod, needed);
        if (!isPrepared)
            return tl::unexpected(isPrepared.error());
        std::optional<std::vector<ClaimedDevice>> fresh;
        if (!*isPrepared) {
            auto made = prepareDevices(needed.claim, cancel);
            if (!made)
                return fail(made.error().code,
                            "NodePrepareResources failed for ResourceClaim " + needed.name + ": "
                                + made.error().message);
            fresh = std::move(*made);
        }
        HeldClaim ready;
        {
            const std::lock_guard lock(m_mutex);
            const auto found = m_claims.find(keyOf(pod.nameSpace, needed.name));
            if (found == m_claims.end())
                return fail(ErrorCode::Aborted, "the pod has ended meanwhile");
            if (fresh && !found->second.isPrepared) {
                found->second.devices = std::move(*fresh);
                found->second.preparedAt = std::chrono::system_clock::now();
                found->second.isPrepared = true;
                if (const Status kept = writeClaimCheckpoint(m_file, m_claims); !kept) {
                    found->second.isPrepared = false;
                    return fail(kept.error().code, "checkpoint ResourceClaim state: " + kept.error().message);
                }
            }
            ready = found->second;
        }
        tell(ready, cancel);
        std::move(ready.devices.begin(), ready.devices.end(), std::back_inserter(devices));
    }
    return devices;
}

template<typename Leaves>
Status DeviceClaims::drop(Leaves leaves)
{
    const std::lock_guard lock(m_mutex);
    std::size_t dropped = 0;
    for (auto claim = m_claims.begin(); claim != m_claims.end();) {
        dropped += std::erase_if(claim->second.pods, leaves);
        claim = claim->second.pods.empty() ? m_claims.erase(claim) : std::next(claim);
    }
    return dropped == 0 ? Status{} : writeClaimCheckpoint(m_file, m_claims);
}

Status DeviceClaims::unprepare(const std::string &podUid)
{
    return drop([&podUid](const std::string &pod) { return pod == podUid; });
}

Status DeviceClaims::keepOnly(const std::set<std::string> &podUids)
{
    return drop([&podUids](const std::string &pod) { return !podUids.contains(pod); });
}

HeldClaims DeviceClaims::held() const
{
    const std::lock_guard lock(m_mutex);
    return m_claims;
}

bool hasDeviceClaims(const PodSpec &pod)
{
    return !itemsOf(fieldOf(*pod.object, "spec"), "resourceClaims").empty();
}

Environment deviceVariables(const std::vector<ClaimedDevice> &devices)
{
    Environment variables;
    std::string names;
    for (const ClaimedDevice &device : devices) {
        names += (names.empty() ? "" : ",") + device.interfaceName;
        std::string upper = device.interfaceName;
        for (char &letter : upper)
            letter = std::isalnum(static_cast<unsigned char>(letter)) != 0
                ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter)))
                : '_';
        if (!device.addresses.empty())
            variables["SLIPWAY_NETWORK_ADDRESS_" + upper]
                = device.addresses.front().substr(0, device.addresses.front().find('/'));
    }
    if (!names.empty())
        variables["SLIPWAY_NETWORK_INTERFACES"] = names;
    return variables;
}

} // namespace cluster::local
