#pragma once

#include "cluster/local/clusters/cluster_parts.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/clusters/node_directory.h"
#include "cluster/local/clusters/ray_watch.h"
#include "cluster/local/clusters/service_events.h"
#include "cluster/local/kubelet/kubelet_server.h"
#include "cluster/local/kubelet/metrics_api.h"
#include "cluster/local/metadataserver/metadata_server.h"
#include "cluster/local/metrics/managed_prometheus.h"
#include "cluster/local/network/egress_proxy.h"
#include "cluster/local/network/service_ports.h"
#include "cluster/local/network/service_table.h"
#include "cluster/local/network/service_watch.h"
#include "cluster/local/nodeagent/node_agent.h"
#include "cluster/local/nodes/autoscaler.h"
#include "cluster/local/nodes/node_pools.h"
#include "cluster/local/storage/bucket_folders.h"
#include "cluster/local/storage/disk_provisioner.h"
#include "cluster/local/tpuwebhook/tpu_webhook.h"

#include <atomic>
#include <mutex>

namespace cluster::local {

struct ClusterParts::Private
{
    Private(const LocalClusterSurroundings &s, std::filesystem::path dir, const ClusterSpec &clusterSpec,
            AddressPlan p, ControlPlaneEndpoint e)
        : surroundings(s), folder(std::move(dir)), spec(clusterSpec), plan(p), endpoint(std::move(e)),
          client(http, {endpoint.url, endpoint.caFile.string(), endpoint.adminToken, {}, {}, "slipwayd"}),
          services(plan), hasBucketDriver(spec.gcsFuse), workloadPool(spec.workloadPool)
    {
    }

    [[nodiscard]] Status startOnIo();
    [[nodiscard]] Result<KubeletServerOptions> kubeletOptions() const;
    [[nodiscard]] Result<MetricsApiOptions> metricsOptions() const;
    [[nodiscard]] Result<TpuWebhookOptions> tpuWebhookOptions() const;
    [[nodiscard]] MetadataServerOptions metadataOptions() const;
    [[nodiscard]] NodeAgentOptions agentOptions() const;
    [[nodiscard]] NodesCluster nodesCluster() const;
    [[nodiscard]] NodePoolsOptions poolsOptions();
    [[nodiscard]] AutoscalerOptions autoscalerOptions() const;
    void collectMetrics();
    void startStorage();
    [[nodiscard]] Status mayList(const std::string &bucket, const std::string &uid) const;
    [[nodiscard]] Status listenForRay();
    void registerForRay();
    void log(const std::string &text) const { surroundings.log(spec.name, text); }

    const LocalClusterSurroundings &surroundings;
    std::filesystem::path folder;
    ClusterSpec spec;
    AddressPlan plan;
    ControlPlaneEndpoint endpoint;
    HttpClient http;
    KubeClient client;
    ServiceTable services;
    std::atomic<bool> hasBucketDriver;
    mutable std::mutex poolMutex;
    std::string workloadPool; ///< guarded by it
    std::shared_ptr<BucketFolders> buckets;
    std::unique_ptr<DiskProvisioner> disks;
    std::unique_ptr<ServiceWatch> watch;
    std::unique_ptr<NodeDirectory> nodes;
    std::shared_ptr<MetadataServer> metadata; // null: pods have none
    std::unique_ptr<NodeAgent> agent; // this, the one above and the next five on the io_context
    std::unique_ptr<KubeletServer> kubelet;
    std::unique_ptr<MetricsApi> metrics;
    std::unique_ptr<TpuWebhook> tpuWebhook; // of the Ray operator add-on, else null
    std::unique_ptr<EgressProxy> egress;
    std::unique_ptr<ServicePorts> ports;
    std::unique_ptr<NodePools> pools;
    CancelSource stopping;
    std::unique_ptr<PoolScaler> scaler;
    std::unique_ptr<Autoscaler> autoscaler;
    std::unique_ptr<RayWatch> ray;
    std::unique_ptr<ServiceEvents> serviceEvents;
    std::shared_ptr<void> collection; ///< of metrics, as long as it is held
};

} // namespace cluster::local
