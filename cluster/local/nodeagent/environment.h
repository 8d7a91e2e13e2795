#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/pod_spec.h"

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

using Environment = std::map<std::string, std::string>;

/// A Secret or ConfigMap ("secrets", "configmaps") of the pod's namespace. NotFound where there is none.
using ObjectOf = std::function<Result<nlohmann::json>(const std::string &plural, const std::string &name)>;

struct EnvironmentInput
{
    const PodSpec &pod;
    std::size_t container; ///< in pod.containers
    std::string podAddress, hostAddress; ///< as programs of this machine reach them: 127.a.b.c
    const nlohmann::json &node; ///< the Node object, for resources without a limit; may be null
    const nlohmann::json &services; ///< array of the namespace's Services
    ObjectOf objectOf;
    std::string apiHost; ///< KUBERNETES_SERVICE_HOST
    int apiPort = 0;
};

/// A container's variables: literals, references, whole Secrets and ConfigMaps, Services as kubelet names
/// them, what GKE's TPU device plugin adds. $(NAME) is expanded. Addresses of the cluster (10.a.b.c) in
/// references and Services are the ones of this machine that play them (127.a.b.c). Errors are kubelet's
/// words for CreateContainerConfigError. Blocks where `objectOf` does.
Result<Environment> containerEnvironment(const EnvironmentInput &input);

/// $(NAME) by `environment`; $$(NAME) is $(NAME); an unknown name stays as it is.
std::string expandReferences(const std::string &text, const Environment &environment);

/// fieldRef of the downward API. InvalidArgument for a path that it doesn't have.
Result<std::string> fieldReference(const PodSpec &pod, const std::string &path, const std::string &podAddress,
                                   const std::string &hostAddress);

/// resourceFieldRef, rounded up to whole divisors.
Result<std::string> resourceReference(const PodSpec &pod, const nlohmann::json &reference,
                                      const std::string &defaultContainer, const nlohmann::json &node);

/// "10.4.0.7" -> "127.4.0.7"; anything else unchanged.
std::string localAddress(const std::string &address);

/// What the TPU device plugin's Allocate adds to a container that asks for chips, from the node's labels and
/// the number of chips on it. Empty without TPU labels.
Environment tpuEnvironment(const nlohmann::json &node);

std::string decodeBase64(const std::string &text);

} // namespace cluster::local
