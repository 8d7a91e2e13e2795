#pragma once

#include "cluster/local/nodeagent/time_text.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

enum class RestartPolicy { Always, OnFailure, Never };

/// What a probe or a lifecycle hook does.
struct ProbeAction
{
    enum class Kind { None, Exec, HttpGet, TcpSocket, Grpc, Sleep };
    Kind kind = Kind::None;
    std::vector<std::string> command; ///< Exec
    std::string scheme, host, port, path; ///< port: a number or a name of one of the container's ports
    std::vector<std::pair<std::string, std::string>> headers;
    std::string service; ///< Grpc; empty: the server as a whole
    std::int64_t seconds = 0; ///< Sleep
};

struct ProbeSpec
{
    ProbeAction action;
    int initialDelay = 0, timeout = 1, period = 10; ///< seconds
    int successThreshold = 1, failureThreshold = 3;
    std::optional<int> graceSeconds; ///< terminationGracePeriodSeconds of the probe itself
};

enum class ContainerRole {
    Init, ///< must end with 0 before the next one starts
    Sidecar, ///< an init container with restartPolicy Always: stays beside the others
    Main,
    Ephemeral, ///< added to a running pod (kubectl debug): never restarted, and counts for nothing
};

/// "spec.NAME" where containers of that role are listed.
const char *listOf(ContainerRole role);

enum class PullPolicy { IfNotPresent, Always, Never };

struct ContainerSpec
{
    std::string name, image;
    ContainerRole role = ContainerRole::Main;
    std::vector<std::string> command, args;
    std::string workingDir;
    std::vector<std::pair<std::string, int>> ports; ///< name (may be empty), containerPort
    std::shared_ptr<const ProbeSpec> startup, liveness, readiness;
    std::shared_ptr<const ProbeAction> postStart, preStop;
    std::int64_t memoryLimit = 0; ///< bytes; 0: none
    double cpuLimit = 0, cpuRequest = 0; ///< cores; 0: none
    PullPolicy pullPolicy = PullPolicy::IfNotPresent;
    std::string target; ///< of an ephemeral one: the container whose processes it sees
    std::string messagePath; ///< terminationMessagePath
    bool logIsMessage = false; ///< terminationMessagePolicy FallbackToLogsOnError
    bool hasStdin = false, stdinOnce = false, tty = false;
};

/// A pod as the node agent sees it: what decides its life as values, everything else in the object.
struct PodSpec
{
    std::string nameSpace, name, uid, node;
    /// Init containers and sidecars first, in their order; ephemeral ones, which may still come, last.
    std::vector<ContainerSpec> containers;
    RestartPolicy restartPolicy = RestartPolicy::Always;
    std::optional<std::int64_t> activeDeadline; ///< seconds
    std::int64_t grace = 30; ///< seconds
    std::optional<std::int64_t> deletionGrace; ///< set: the pod is being deleted
    std::int32_t priority = 0;
    bool hostNetwork = false;
    bool isOfJob = false;
    std::string runtime; ///< annotation slipway.dev/runtime
    std::shared_ptr<const nlohmann::json> object; ///< perhaps pruned

    /// "name_namespace(uid)", kubelet's way to name a pod in messages.
    [[nodiscard]] std::string label() const { return name + "_" + nameSpace + "(" + uid + ")"; }
};

/// Never fails: what is missing has Kubernetes' default.
PodSpec parsePod(std::shared_ptr<const nlohmann::json> object);

/// Pods of system-cluster-critical and above.
inline constexpr std::int32_t criticalPriority = 2000000000;

/// Kubernetes quantities: "200Gi", "1500m", "1e3", 4. Nothing where it is none.
std::optional<double> parseQuantity(const nlohmann::json &quantity);

/// Keeps what the agent needs of a pod that has no process, so that thousands cost little.
void pruneSimulatedPod(nlohmann::json &pod);

} // namespace cluster::local
