#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"
#include "cluster/local/nodeagent/claim_checkpoint.h"
#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/pod_spec.h"

#include <filesystem>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// Kubelet's part of dynamic resource allocation, and the part of GKE's network driver (dra.net) that runs on
/// nodes: a pod's ResourceClaims are prepared before its containers start and unprepared when the last pod
/// that uses them has ended. There are no such cards here: a prepared device is a name, a hardware address
/// and what the claim's status and the containers are told of them.
///
/// What was prepared is kept in a file, so that a later agent goes on with it. All but the constructor
/// block; threads may share it.
class DeviceClaims
{
public:
    /// \param file  "dra_manager_state"; `client` must outlive this.
    DeviceClaims(KubeClient &client, std::filesystem::path file);

    /// Reads the file. DataLoss: it is damaged and was set aside as "….damaged"; nothing is prepared.
    Status load();

    /// The devices of all claims of the pod. Again for a pod that has them: the same, without asking the
    /// driver. Errors are kubelet's words for FailedPrepareDynamicResources.
    /// \param node  The Node object: its label says whether the driver runs there.
    Result<std::vector<ClaimedDevice>> prepare(const PodSpec &pod, const nlohmann::json &node,
                                               const CancelToken &cancel);

    /// The pod has ended. No error if it holds none. ResourceExhausted: forgotten, but not in the file.
    Status unprepare(const std::string &podUid);

    /// Unprepares what other pods than these left: of agents that were killed.
    Status keepOnly(const std::set<std::string> &podUids);

    [[nodiscard]] HeldClaims held() const;

private:
    struct Needed;
    Result<Needed> find(const PodSpec &pod, const nlohmann::json &entry, const nlohmann::json &node,
                        const CancelToken &cancel);
    Result<bool> hold(const PodSpec &pod, const Needed &needed);
    Result<std::vector<ClaimedDevice>> prepareDevices(const nlohmann::json &claim, const CancelToken &cancel);
    void tell(const HeldClaim &claim, const CancelToken &cancel);
    template<typename Leaves>
    Status drop(Leaves leaves);

    KubeClient &m_client;
    std::filesystem::path m_file;
    mutable std::mutex m_mutex;
    HeldClaims m_claims;
};

bool hasDeviceClaims(const PodSpec &pod);

/// What containers of a pod with such devices are told of them: SLIPWAY_NETWORK_INTERFACES (names, by commas)
/// and SLIPWAY_NETWORK_ADDRESS_<NAME>.
Environment deviceVariables(const std::vector<ClaimedDevice> &devices);

} // namespace cluster::local
