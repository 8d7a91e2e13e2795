#pragma once

#include "cluster/local/controlplane/control_plane.h"
#include "cluster/local/gcp/metric_store.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

struct ManagedPrometheusOptions
{
    std::filesystem::path folder; ///< for all projects
    std::filesystem::path program; ///< empty: there is none
    std::string missing; ///< then: what to do
    std::function<void(const std::string &)> log; ///< a line for a person
};

/// Where a cluster's API server is, for collecting its metrics.
struct MonitoredEndpoint
{
    std::string id; ///< ClusterSpec::id
    std::string project;
    std::string location;
    std::string name;
    std::string apiUrl;
    std::filesystem::path caFile;
    std::string token; ///< may read pods and nodes, and write what belongs to monitoring.googleapis.com
};

/// Managed Prometheus: collects what the PodMonitorings of clusters choose, and answers queries.
///
/// There is one real Prometheus for each *project*, since that is what Google's address names: a query sees
/// the metrics of all clusters of its project, and of no other, without anything of ours reading PromQL. It
/// is started by the first PodMonitoring or the first query, and stopped when for a while there was neither;
/// what it has collected stays for a day.
class ManagedPrometheus : public MetricStore
{
public:
    explicit ManagedPrometheus(ManagedPrometheusOptions options);
    ~ManagedPrometheus() override; ///< stop()
    ManagedPrometheus(const ManagedPrometheus &) = delete;
    ManagedPrometheus &operator=(const ManagedPrometheus &) = delete;

    /// Installs the definitions in a cluster, and collects there until the handle is destroyed.
    [[nodiscard]] Result<std::shared_ptr<void>> collect(const MonitoredEndpoint &endpoint);

    Result<MetricAnswer> ask(const std::string &project, const MetricQuestion &question) override;

    /// Ends all of them; questions that wait end with Cancelled, later ones fail.
    void stop();
    [[nodiscard]] std::vector<ProcessState> processes() const; ///< those that run

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
