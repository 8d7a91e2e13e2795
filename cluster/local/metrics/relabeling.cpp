#include "cluster/local/metrics/relabeling.h"

namespace cluster::local::relabeling {

using nlohmann::json;

namespace {

/// A Deployment's pods belong to a ReplicaSet whose name has a hash behind the Deployment's; a CronJob's to a
/// Job with a time.
const char *const kOfDeployment = "ReplicaSet;true;(.+)-[a-z0-9]+";
const char *const kOfCronJob = "Job;(.+)-\\d{8}";

std::vector<std::string> deploymentSources()
{
    return {relabeling::podMeta + "controller_kind", relabeling::podMeta + "labelpresent_pod_template_hash",
            relabeling::podMeta + "controller_name"};
}

std::vector<std::string> cronJobSources()
{
    return {relabeling::podMeta + "controller_kind", relabeling::podMeta + "controller_name"};
}

} // namespace

json set(const std::string &target, const std::string &value)
{
    return {{"target_label", target}, {"replacement", value}};
}

json copy(const std::string &source, const std::string &target)
{
    return {{"source_labels", {source}}, {"target_label", target}};
}

json replace(const std::vector<std::string> &sources, const std::string &regex,
             const std::string &replacement, const std::string &target)
{
    return {
        {"source_labels", sources}, {"regex", regex}, {"replacement", replacement}, {"target_label", target}};
}

json keep(const std::string &source, const std::string &regex)
{
    return {{"action", "keep"}, {"source_labels", {source}}, {"regex", regex}};
}

json drop(const std::string &source, const std::string &regex)
{
    return {{"action", "drop"}, {"source_labels", {source}}, {"regex", regex}};
}

json dropLabel(const std::string &label)
{
    return {{"action", "labeldrop"}, {"regex", label}};
}

std::vector<json> metadata(const std::string &label)
{
    if (label == "namespace")
        return {copy("__meta_kubernetes_namespace", label)};
    if (label == "pod")
        return {copy(relabeling::podMeta + "name", label)};
    if (label == "container")
        return {copy(relabeling::podMeta + "container_name", label)};
    if (label == "node")
        return {copy(relabeling::podMeta + "node_name", label)};
    if (label == "top_level_controller_name")
        return {copy(relabeling::podMeta + "controller_name", label),
                replace(deploymentSources(), kOfDeployment, "$1", label),
                replace(cronJobSources(), kOfCronJob, "$1", label)};
    return {copy(relabeling::podMeta + "controller_kind", label),
            replace(deploymentSources(), kOfDeployment, "Deployment", label),
            replace(cronJobSources(), kOfCronJob, "CronJob", label)};
}

std::string metaLabelOf(const std::string &podLabel)
{
    std::string text = relabeling::podMeta + "label_";
    for (const char c : podLabel) {
        const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        text += fits ? c : '_';
    }
    return text;
}

} // namespace cluster::local::relabeling
