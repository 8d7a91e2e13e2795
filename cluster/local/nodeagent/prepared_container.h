#pragma once

#include "cluster/local/nodeagent/agent_context.h"
#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/podman_runtime.h"
#include "cluster/local/nodeagent/volumes.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// A container ready to be started.
struct PreparedContainer
{
    LaunchSpec launch;
    std::string standIn; ///< what the annotation says; empty: nothing stands in
    int port = 0; ///< that a stand-in listens on
    bool hasOwnLocalhost = false; ///< "localhost" in commands beside it is the pod's own address
    std::optional<PodmanContainer> podman; ///< what runs is a client of it
};

struct PreparationInput
{
    std::shared_ptr<const PodSpec> pod;
    std::size_t container = 0;
    RuntimeChoice choice;
    VolumePaths volumes;
    Environment deviceVariables; ///< of the pod's claims
    std::vector<std::pair<std::string, std::string>> metadataVariables; ///< where the metadata server is
    std::string podIp, hostIp; ///< 10.a.b.c
    std::shared_ptr<const nlohmann::json> node;
    std::filesystem::path folder; ///< of the pod; etc/hosts is there
};

/// Resolves environment, command, mounts and stand-in. Blocks: reads Secrets and ConfigMaps from the API
/// server. Errors are worth a CreateContainerConfigError.
Result<PreparedContainer> prepareContainer(const AgentContext &context, const PreparationInput &input);

/// What a pod's /etc/hosts says: itself, its hostAliases, and the names that `names` has lines for.
std::string hostsText(const PodSpec &pod, const std::string &podAddress, const std::string &names);

/// The pod's volumes, made or brought up to date. Blocks. \param tokens  Kept between calls: what needs no
/// renewal.
Result<VolumePaths> preparePodVolumes(const AgentContext &context, const PreparationInput &input,
                                      std::map<std::string, ServiceToken> &tokens);

} // namespace cluster::local
