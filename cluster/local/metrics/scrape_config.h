#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// The cluster whose pods are scraped.
struct ScrapedCluster
{
    std::string id; ///< ClusterSpec::id
    std::string project;
    std::string location;
    std::string name;
    std::string apiUrl; ///< https://127.0.0.1:PORT
    std::filesystem::path caFile;
    std::filesystem::path tokenFile; ///< for the API server, behind which the kubelets are
    std::filesystem::path targetsFolder; ///< for files that say which pods and nodes there are

    /// Of a PodMonitoring, or "kubelet".
    [[nodiscard]] std::filesystem::path targetsFile(const std::string &key) const;
};

/// "PodMonitoring/NAMESPACE/NAME", "ClusterPodMonitoring/NAME".
std::string monitoringKeyOf(const nlohmann::json &monitoring);

/// Prometheus's scrape configurations (a list, one per endpoint) for a PodMonitoring or ClusterPodMonitoring
/// of monitoring.googleapis.com/v1, with the labels of Managed Prometheus: project_id, location, cluster,
/// namespace, job, instance and what targetLabels asks for. The pods come from targetsFile(); 10.a.b.c is
/// scraped at 127.a.b.c.
/// Errors: InvalidArgument, for what the object asks and Google's collector refuses; Unimplemented, for what
/// the local target's does not do (secrets, proxies).
Result<nlohmann::json> scrapeConfigsOf(const ScrapedCluster &cluster, const nlohmann::json &monitoring);

/// The kubelets' own pages through the API server, as job "kubelet": cadvisor's as on GKE, and the resource
/// page's sums of nodes and pods.
nlohmann::json kubeletScrapeConfigs(const ScrapedCluster &cluster);

} // namespace cluster::local
