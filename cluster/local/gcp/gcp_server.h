#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"
#include "cluster/httpd/server_exchange.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

class BucketObjects;
class ClusterHost;
class MetricStore;
class PodIdentities;
class PoolScaler;
struct GcpContext;
struct PoolSpec;

struct GcpOptions
{
    std::string database; ///< path of gcp.sqlite
    std::filesystem::path bucketsDir;
    std::string token; ///< what clients must send as Bearer
    std::string projectId = "slipway-local";
    std::string projectNumber = "103810000001";
    double timeFactor = 60; ///< Google's durations are divided by this: 1 is realistic
    std::function<std::chrono::system_clock::time_point()> now; ///< empty: the system's
    MetricStore *metrics = nullptr; ///< who answers Prometheus's queries; outlives the server
    int workers = 8; ///< threads that answer requests
};

/// Google's side of the local target: all APIs below their prefixes (/container/, /serviceusage/, /crm/,
/// /iam/, /storage/, /artifactregistry/, /compute/, /cloudquotas/, /monitoring/), and the faults on order
/// below /slipway/v1/faults. Has no listener of its own: hand it the exchanges of one.
class GcpServer
{
public:
    /// Opens the database. `host` outlives it.
    static Result<std::unique_ptr<GcpServer>> open(GcpOptions options, ClusterHost &host);
    ~GcpServer(); ///< stops
    GcpServer(const GcpServer &) = delete;
    GcpServer &operator=(const GcpServer &) = delete;

    /// Takes on operations that were running when the last process ended, and faults on order. Call it once
    /// `host` knows the clusters that there are.
    void start();

    /// True for a path that is one of ours. The first segment decides: a prefix, or upload, resumable or
    /// download, which clients of storage put right behind the host.
    [[nodiscard]] bool takes(const ServerRequest &request) const;
    /// For ListenerOptions::openSink: uploads of any size go straight to disk.
    [[nodiscard]] std::shared_ptr<BodySink> openSink(const ServerRequest &request) const;
    /// Answers on a worker thread. Call it on the listener's thread.
    void handle(std::shared_ptr<ServerExchange> exchange);

    /// Running operations are cancelled (and taken on by the next process); blocks until threads have ended.
    void stop();

    /// How GKE itself changes the pools of a cluster (ClusterSpec::id); `pools` are those that the host has.
    /// Must end before this.
    [[nodiscard]] std::unique_ptr<PoolScaler> scaler(const std::string &clusterId,
                                                     std::function<std::vector<PoolSpec>()> pools,
                                                     const CancelToken &cancel);

    /// Cloud Storage's objects for who shows them as files. Lives as long as this.
    [[nodiscard]] BucketObjects &bucketObjects();

    /// Who pods are for these services. Lives as long as this.
    [[nodiscard]] PodIdentities &podIdentities();

    [[nodiscard]] GcpContext &context();

private:
    class Private;
    explicit GcpServer(std::unique_ptr<Private> d);
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
