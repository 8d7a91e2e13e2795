#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

/// What Prometheus would find out about pods and nodes by its discovery for Kubernetes, in the form of its
/// files of targets (file_sd). Debian's Prometheus is built without that discovery.

/// Keeps of a Pod what the targets are made of.
void prunePod(nlohmann::json &pod);

/// Does a LabelSelector (matchLabels, matchExpressions) choose these labels? An unknown operator chooses
/// none.
bool selectorFits(const nlohmann::json &selector, const nlohmann::json &labels);

/// A list with a group for each declared port of each container, and one for each container without ports,
/// under the labels __meta_kubernetes_pod_… and __meta_kubernetes_namespace. Empty for a pod without an
/// address.
nlohmann::json podTargets(const nlohmann::json &pod);

/// A group for the kubelet of a node, by way of the API server at `address` ("127.0.0.1:6443").
nlohmann::json nodeTarget(const std::string &node, const std::string &address);

} // namespace cluster::local
