#pragma once

#include "cluster/local/runtimes/ray/serve_apps.h"
#include "cluster/local/runtimes/ray/serve_autoscaler.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

enum class ServeAppStatus { NotStarted, Deploying, DeployFailed, Running, Unhealthy, Deleting };
enum class ServeDeploymentStatus { Updating, Healthy, Unhealthy, Upscaling, Downscaling, DeployFailed };
enum class ServeReplicaState { Starting, Running, Stopping };

/// One replica, from the decision that there shall be one until it is gone.
struct ServeReplica
{
    ServeReplicaSpec spec;
    std::string actorId, workerId;
    std::string node; ///< id; empty: nowhere is room yet
    std::vector<std::string> shardNodes; ///< of a model that spreads over several hosts
    std::size_t shardsReady = 0;
    ServeReplicaState state = ServeReplicaState::Starting;
    ServeTarget target; ///< once it runs
    int pid = 0;
    RayClock::time_point since; ///< of this state
    double startedAt = 0; ///< seconds since the epoch
    std::uint64_t served = 0;
    std::map<std::string, int> ongoing; ///< requests in hand, by the node that counts them

    [[nodiscard]] int ongoingCount() const;
};

struct ServeDeployment
{
    DeploymentBlueprint blueprint;
    nlohmann::json config = nlohmann::json::object(); ///< what the application's config says of it
    ServeDeploymentStatus status = ServeDeploymentStatus::Updating;
    std::string trigger = "CONFIG_UPDATE_STARTED", message;
    int target = 1;
    std::optional<ServeAutoscaler> autoscaler;
    std::vector<ServeReplica> replicas;
    int failures = 0; ///< replicas in a row that did not start
    std::uint64_t starts = 0;
};

struct ServeApp
{
    ServeAppConfig config;
    ServeAppStatus status = ServeAppStatus::Deploying;
    std::string message;
    double deployedAt = 0; ///< seconds since the epoch
    std::optional<RayClock::time_point> buildUntil; ///< the build task runs
    bool hasNewCode = true; ///< what is being built replaces what runs
    bool hasBuildFailed = false;
    std::optional<AppBlueprint> blueprint; ///< once it has been built
    std::vector<ServeDeployment> deployments;
};

enum class ServeProxyStatus { Starting, Healthy, Draining };

struct ServeProxy
{
    std::string node; ///< id
    std::string actorId, workerId;
    ServeProxyStatus status = ServeProxyStatus::Starting;
    RayClock::time_point since; ///< of the status
    ServeProxyPlan plan; ///< as last told to the node
};

/// All that Serve's controller knows. Only the controller writes it; pages and metrics read it.
struct ServeState
{
    bool isStarted = false; ///< a config has come: there are a controller and proxies
    bool isEnding = false; ///< DELETE: all goes, then this is as at the start
    std::string controllerActor, controllerWorker;
    double startedAt = 0;
    std::uint64_t loops = 0;
    std::string proxyLocation = "EveryNode";
    unsigned short port = 8000;
    std::map<std::string, ServeApp> apps; ///< by name
    std::map<std::string, ServeProxy> proxies; ///< by node id
};

const char *nameOf(ServeAppStatus status);
const char *nameOf(ServeDeploymentStatus status);
const char *nameOf(ServeReplicaState state);
const char *nameOf(ServeProxyStatus status);

/// "SERVE_REPLICA::app#deployment#id"
std::string replicaActorName(const ServeReplicaSpec &spec);

} // namespace cluster::local
