#pragma once

#include "cluster/base/result.h"
#include "cluster/local/gcp/documents.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// What can be made to go wrong. The names on the wire are in brackets.
enum class FaultKind {
    Stockout, ///< [stockout] no capacity of a machine type in a zone: the operation fails as GKE's does
    Quota, ///< [quota] a limit (field "limit") of a quota in a region, from now on
    SlowOperation, ///< [slow-operation] operations take "factor" times as long
    FailedOperation, ///< [failed-operation] operations end with an internal error, or with "message"
    HostLost, ///< [host-lost] a host of a pool goes away without a word
    Maintenance, ///< [maintenance] a pool's hosts are drained and recreated
    Preemption, ///< [preemption] spot VMs are taken back
    RateLimit, ///< [rate-limit] 429 RESOURCE_EXHAUSTED
    Unavailable, ///< [unavailable] 503 UNAVAILABLE
    Latency, ///< [latency] answers wait for "latencyMs"
    TokenExpiry, ///< [token-expiry] 401 UNAUTHENTICATED
    DiskFull, ///< [disk-full] writes fail: of Google's services, or of one cluster's nodes
};

std::string faultName(FaultKind kind);

/// One fault on order. Empty fields match everything.
struct Fault
{
    std::string id; ///< given by the store: "f-3"
    FaultKind kind = FaultKind::Stockout;
    std::string service; ///< prefix of the API: "container", "storage"
    std::string method; ///< "POST"
    std::string path; ///< a part of the request's path: "nodePools"
    std::string location; ///< a zone, or a region with all of its zones
    std::string cluster; ///< its name
    std::string pool;
    std::string host; ///< a node's name (host-lost)
    std::string machineType;
    std::string quota; ///< the quota's id or metric
    std::string operation; ///< "CREATE_NODE_POOL"
    std::string message; ///< instead of Google's words
    double factor = 10; ///< slow-operation
    std::int64_t limit = 0; ///< quota
    std::chrono::milliseconds latency{1000};
    int times = 0; ///< how often it strikes; 0: until it is removed
    int struck = 0; ///< how often it has

    [[nodiscard]] nlohmann::json toJson() const; ///< the REST and YAML form
    static Result<Fault> fromJson(const nlohmann::json &json); ///< InvalidArgument names the wrong field
};

/// What is about to happen. Only fields that are known are filled; a fault that names another one is no
/// match.
struct FaultContext
{
    std::string service, method, path;
    std::string location, cluster, pool, machineType, operation, quota;
};

/// The faults on order, kept in the documents store. Any thread.
class Faults
{
public:
    explicit Faults(Documents &documents) : m_documents(documents) {}

    Result<Fault> add(Fault fault);
    Result<std::vector<Fault>> list() const;
    Status remove(const std::string &id); ///< NotFound
    Status clear();
    /// Of a fault that its user strikes with by himself; it stays on order.
    void countStrike(const std::string &id);

    /// The oldest fault of this kind that matches; counts as struck, and goes when it has struck `times`
    /// times.
    std::optional<Fault> strike(FaultKind kind, const FaultContext &context);
    /// The same without counting.
    std::optional<Fault> find(FaultKind kind, const FaultContext &context) const;

    /// Called (on the caller's thread) after each add and remove. For those that act on faults by themselves.
    void onChange(std::function<void()> fn);

private:
    void load() const;
    void changed();

    Documents &m_documents;
    mutable std::mutex m_mutex;
    mutable bool m_loaded = false;
    mutable std::vector<Fault> m_faults;
    std::vector<std::function<void()>> m_listeners;
};

} // namespace cluster::local
