#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/metrics/scrape_config.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cluster {
class Informer;
}

namespace cluster::local {

/// The PodMonitorings and ClusterPodMonitorings of one cluster, followed, and their status.
class MonitoredCluster
{
public:
    MonitoredCluster(ScrapedCluster facts, KubeEndpoint endpoint);
    ~MonitoredCluster(); ///< stop()
    MonitoredCluster(const MonitoredCluster &) = delete;
    MonitoredCluster &operator=(const MonitoredCluster &) = delete;

    /// Installs the definitions, and follows the objects; `onChange` comes from threads of its own, and not
    /// after stop() has returned.
    Status start(std::function<void()> onChange);
    void stop();

    [[nodiscard]] const ScrapedCluster &facts() const { return m_facts; }
    [[nodiscard]] std::map<std::string, nlohmann::json> monitorings() const; ///< by monitoringKeyOf()

    /// Follows the pods and nodes too, from the first call on, and keeps the files of targets as they are
    /// now.
    Status writeTargets();
    void forgetTargets(); ///< until the next call of writeTargets()
    /// What became of an object (empty: well): writes its condition ConfigurationCreateSuccess, where it is
    /// another by now.
    void report(const std::string &key, const std::string &problem);

private:
    void follow(const std::string &plural);
    void followTargets();
    Status keepFiles(const std::map<std::string, nlohmann::json> &targets);
    void writeCondition(const nlohmann::json &monitoring, const std::string &problem);

    ScrapedCluster m_facts;
    HttpClient m_http;
    KubeClient m_client;
    CancelSource m_stopping;
    std::function<void()> m_onChange;
    mutable std::mutex m_mutex; ///< guards m_monitorings
    std::map<std::string, nlohmann::json> m_monitorings;
    std::mutex m_targetsMutex; ///< guards the next three
    std::map<std::string, std::string> m_written; ///< files of targets, by key
    std::unique_ptr<Informer> m_pods;
    std::unique_ptr<Informer> m_nodes;
    std::vector<std::unique_ptr<Informer>> m_informers; ///< last: they end before what they fill
};

} // namespace cluster::local
