#pragma once

#include "cluster/base/result.h"
#include "cluster/local/runtimes/ray/ray_values.h"
#include "cluster/local/runtimes/ray/serve_config.h"
#include "cluster/local/runtimes/ray/start_options.h"

#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// How many replicas by how many requests are in hand; Serve's AutoscalingConfig and its defaults.
struct ServeAutoscaling
{
    int minReplicas = 1, maxReplicas = 1;
    std::optional<int> initialReplicas;
    double targetOngoing = 2;
    double lookBackSeconds = 30, upscaleDelaySeconds = 30, downscaleDelaySeconds = 600;
};

/// What an application's code says of one deployment.
struct DeploymentBlueprint
{
    std::string name;
    ServeRole role = ServeRole::ImagineIngress;
    RayResources resources{{"CPU", 1}}; ///< of one replica
    int shards = 0; ///< further hosts that a replica spreads over, each with the same TPUs
    int replicas = 1;
    std::optional<ServeAutoscaling> autoscaling;
    int maxOngoing = 5;
    std::vector<std::string> outbound; ///< deployments that it calls
    nlohmann::json arguments = nlohmann::json::object(); ///< of its replicas
};

struct AppBlueprint
{
    std::vector<DeploymentBlueprint> deployments; ///< in the order in which Serve lists them
    std::string ingress;
};

/// The application that an import path names, for the paths that this stand-in plays: the Stable Diffusion
/// tutorials' (GPU and TPU) and Ray Serve LLM's, also by the TPU tutorial's script with its environment. The
/// config's numbers of deployments are applied. NotFound: another path; the text ends as Python's own does.
Result<AppBlueprint> appBlueprint(const ServeAppConfig &config, const RayVariable &variable);

/// The config's word on one deployment: num_replicas, autoscaling_config, max_ongoing_requests,
/// ray_actor_options. What is of the wrong type is left as the code has it.
void applyDeploymentConfig(const nlohmann::json &config, DeploymentBlueprint &deployment);

} // namespace cluster::local
