#pragma once

#include "cluster/kube/kube_error.h"
#include "cluster/kube/resource_path.h"
#include "cluster/net/http_client.h"

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cluster {

struct KubeEndpoint
{
    std::string url; ///< "https://127.0.0.1:6443"
    std::string caFile; ///< PEM; empty: the system's certificates
    std::string token; ///< bearer; empty: none. Never in a message or a log
    std::string clientCertFile; ///< PEM; empty: none
    std::string clientKeyFile;
    std::string userAgent = "slipway";
};

struct KubeCallOptions
{
    CancelToken cancel;
    Deadline deadline;
    /// Further tries after 429 and 503 with Retry-After (any method: the server did nothing) and, for calls
    /// that may be repeated (reads, PUT, patches, DELETE), after a lost connection and any 5xx or 429.
    int retries = 4;
    std::chrono::milliseconds longestRetryWait{10000}; ///< a longer Retry-After is not waited for
    KubeStatus *failure = nullptr; ///< where given: the server's own Status of the last failure
};

struct KubeListOptions
{
    std::string labelSelector;
    std::string fieldSelector;
    std::string resourceVersion; ///< empty: the newest; "0": any, cheap
    int pageSize = 500; ///< 0: all in one answer
    std::int64_t limit = 0; ///< stop after so many; 0: all
};

struct KubeList
{
    std::string resourceVersion; ///< to watch from
    std::vector<nlohmann::json> items; ///< with apiVersion and kind, which the server leaves out
    bool isComplete = true; ///< false where `limit` ended it
};

enum class PatchType { Json, Merge, Strategic };

struct KubeWriteOptions : KubeCallOptions
{
    std::string fieldManager; ///< empty: the server takes the user agent
    bool dryRun = false;
    std::string fieldValidation; ///< "Strict", "Warn", "Ignore"; empty: the server's default
};

struct KubeApplyOptions : KubeWriteOptions
{
    bool force = false; ///< take fields over from other managers instead of a conflict
};

struct KubeDeleteOptions : KubeCallOptions
{
    std::string propagation; ///< "Background", "Foreground", "Orphan"; empty: the server's default
    std::int64_t gracePeriodSeconds = -1; ///< -1: the object's own; 0: at once
    std::string uid; ///< only if it is still this object, else Aborted
    std::string resourceVersion; ///< likewise
};

enum class WatchEventType { Added, Modified, Deleted, Bookmark };

struct KubeWatchOptions
{
    std::string labelSelector;
    std::string fieldSelector;
    std::string
        resourceVersion; ///< events after this; "0": replay what is there; empty: from now, with replay
    bool bookmarks = true;
    std::chrono::seconds timeout{0}; ///< the server ends the watch after this; 0: its own choice
    CancelToken cancel;
};

struct KubeLogOptions
{
    std::string container;
    bool follow = false;
    bool previous = false;
    bool timestamps = false;
    std::int64_t tailLines = -1; ///< -1: all
    std::int64_t sinceSeconds = -1;
    CancelToken cancel;
};

/// May move from the object. Stop ends the watch, a success.
using WatchHandler = std::function<Result<Reading>(WatchEventType, nlohmann::json &object)>;

/// A client of a Kubernetes API server. Calls block their thread; any number of threads may share one client.
/// Objects are JSON as on the wire. Errors: those of HttpClient and of toError(KubeStatus); DataLoss for an
/// answer that is no JSON.
class KubeClient
{
public:
    using Json = nlohmann::json;

    /// `http` must outlive the client.
    KubeClient(HttpClient &http, KubeEndpoint endpoint);
    ~KubeClient();
    KubeClient(const KubeClient &) = delete;
    KubeClient &operator=(const KubeClient &) = delete;

    [[nodiscard]] const KubeEndpoint &endpoint() const { return m_endpoint; }

    Result<Json> get(const ResourcePath &path, const KubeCallOptions &options = {});
    /// All pages. A page token that expires meanwhile (410) starts the list again, once.
    Result<KubeList> list(const ResourcePath &path, const KubeListOptions &list = {},
                          const KubeCallOptions &options = {});
    /// POST to the collection, or to a subresource (binding, eviction, token). The path's name is ignored
    /// without a subresource: the object's own counts (or its generateName).
    Result<Json> create(const ResourcePath &path, const Json &object, const KubeWriteOptions &options = {});
    /// PUT; Aborted where object.metadata.resourceVersion is not the newest any more.
    Result<Json> update(const ResourcePath &path, const Json &object, const KubeWriteOptions &options = {});
    Result<Json> patch(const ResourcePath &path, PatchType type, const Json &patch,
                       const KubeWriteOptions &options = {});
    /// Merge patch of the status subresource: {"status": status}.
    Result<Json> patchStatus(const ResourcePath &path, const Json &status,
                             const KubeWriteOptions &options = {});
    /// Server-side apply of a whole object; fieldManager must be given. Aborted on a conflict: `failure`'s
    /// causes name fields and managers.
    Result<Json> apply(const ResourcePath &path, const Json &object, const KubeApplyOptions &options);
    /// Of one object (the answer: it, or a Status) or, without a name, of the whole collection.
    Result<Json> remove(const ResourcePath &path, const KubeDeleteOptions &options = {});
    Result<Json> removeCollection(const ResourcePath &path, const KubeListOptions &which,
                                  const KubeDeleteOptions &options = {});

    /// Read, change, update; again on a conflict (up to 8 times). `change` returns false: nothing to do.
    Result<Json> modify(const ResourcePath &path, const std::function<bool(Json &object)> &change,
                        const KubeWriteOptions &options = {});

    /// One watch, until the server closes it (success), `onEvent` stops it, it is cancelled or it fails.
    /// FailedPrecondition: the resourceVersion is too old; list again. The result is the newest
    /// resourceVersion seen (of an event or bookmark; else the one given): watch on from there.
    Result<std::string> watch(const ResourcePath &path, const KubeWatchOptions &options,
                              const WatchHandler &onEvent);

    /// A container's log as it is (or as it comes, with follow).
    Status logs(const std::string &nameSpace, const std::string &pod, const KubeLogOptions &options,
                const DataHandler &onData);

    /// Anything else: `target` is path and query ("/version", "/readyz?verbose"). >= 400 is an error.
    Result<HttpResponse> raw(const std::string &method, const std::string &target,
                             const std::string &body = {}, const std::string &contentType = {},
                             const KubeCallOptions &options = {},
                             const std::string &accept = "application/json");

private:
    struct Call;
    Result<HttpResponse> exchange(const Call &call, const KubeCallOptions &options);
    Result<Json> exchangeJson(const Call &call, const KubeCallOptions &options);
    HttpRequest request(const Call &call) const;
    HttpOptions httpOptions(const KubeCallOptions &options) const;

    HttpClient &m_http;
    KubeEndpoint m_endpoint;
};

} // namespace cluster
