#include "cluster/local/runtimes/ray/serve_state.h"

namespace cluster::local {

const char *nameOf(ServeAppStatus status)
{
    switch (status) {
    case ServeAppStatus::NotStarted:
        return "NOT_STARTED";
    case ServeAppStatus::Deploying:
        return "DEPLOYING";
    case ServeAppStatus::DeployFailed:
        return "DEPLOY_FAILED";
    case ServeAppStatus::Running:
        return "RUNNING";
    case ServeAppStatus::Unhealthy:
        return "UNHEALTHY";
    case ServeAppStatus::Deleting:
        return "DELETING";
    }
    return "";
}

const char *nameOf(ServeDeploymentStatus status)
{
    switch (status) {
    case ServeDeploymentStatus::Updating:
        return "UPDATING";
    case ServeDeploymentStatus::Healthy:
        return "HEALTHY";
    case ServeDeploymentStatus::Unhealthy:
        return "UNHEALTHY";
    case ServeDeploymentStatus::Upscaling:
        return "UPSCALING";
    case ServeDeploymentStatus::Downscaling:
        return "DOWNSCALING";
    case ServeDeploymentStatus::DeployFailed:
        return "DEPLOY_FAILED";
    }
    return "";
}

const char *nameOf(ServeReplicaState state)
{
    switch (state) {
    case ServeReplicaState::Starting:
        return "STARTING";
    case ServeReplicaState::Running:
        return "RUNNING";
    case ServeReplicaState::Stopping:
        return "STOPPING";
    }
    return "";
}

const char *nameOf(ServeProxyStatus status)
{
    switch (status) {
    case ServeProxyStatus::Starting:
        return "STARTING";
    case ServeProxyStatus::Healthy:
        return "HEALTHY";
    case ServeProxyStatus::Draining:
        return "DRAINING";
    }
    return "";
}

int ServeReplica::ongoingCount() const
{
    int count = 0;
    for (const auto &[node, own] : ongoing)
        count += own;
    return count;
}

std::string replicaActorName(const ServeReplicaSpec &spec)
{
    return "SERVE_REPLICA::" + spec.app + "#" + spec.deployment + "#" + spec.id;
}

} // namespace cluster::local
