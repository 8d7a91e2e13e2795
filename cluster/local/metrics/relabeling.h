#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// Rules for Prometheus's relabel_configs, as Google's collector builds them (the open part of Managed
/// Prometheus, GoogleCloudPlatform/prometheus-engine).
namespace relabeling {

/// What the labels begin with that kubernetes_sd makes of a pod.
inline const std::string podMeta = "__meta_kubernetes_pod_";

/// `target` = `value`, whatever the pod says.
nlohmann::json set(const std::string &target, const std::string &value);
/// `target` = the label `source`.
nlohmann::json copy(const std::string &source, const std::string &target);
/// `target` = `replacement` where the sources, joined by ';', match all of `regex`.
nlohmann::json replace(const std::vector<std::string> &sources, const std::string &regex,
                       const std::string &replacement, const std::string &target);
nlohmann::json keep(const std::string &source, const std::string &regex);
nlohmann::json drop(const std::string &source, const std::string &regex);
/// Of the target, not of its pod.
nlohmann::json dropLabel(const std::string &label);

/// The rules for one word of targetLabels.metadata: container, namespace, node, pod,
/// top_level_controller_name, top_level_controller_type.
std::vector<nlohmann::json> metadata(const std::string &label);

/// A key of a pod's labels as kubernetes_sd writes it.
std::string metaLabelOf(const std::string &podLabel);

} // namespace relabeling

} // namespace cluster::local
