#pragma once

#include "cluster/httpd/server_exchange.h"
#include "cluster/local/gcp/documents.h"
#include "cluster/local/gcp/faults.h"
#include "cluster/local/gcp/google_error.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace cluster::local {

class MetricStore;
class Quotas;
using WallClock = std::function<std::chrono::system_clock::time_point()>;

/// What all services share. Outlives them.
struct GcpContext
{
    Documents &documents;
    Faults &faults;
    Quotas &quotas;
    WallClock now;
    double timeFactor = 1; ///< Google's durations are divided by this
    std::string projectId; ///< the project that is there from the start
    std::string projectNumber;
    std::filesystem::path bucketsDir; ///< for the bytes of objects
    MetricStore *metrics = nullptr; ///< who answers Prometheus's queries; nullptr: nobody

    /// A duration of Google's as it is here.
    [[nodiscard]] std::chrono::milliseconds compressed(std::chrono::milliseconds real) const
    {
        return std::chrono::milliseconds(
            static_cast<std::int64_t>(static_cast<double>(real.count()) / timeFactor));
    }
    /// "2026-11-30T12:00:00.123456789Z" of now().
    [[nodiscard]] std::string timestamp() const;
};

/// One of Google's APIs, below its own prefix ("/storage/…"). Called on several worker threads at once; may
/// block. The token has been checked, and faults of requests (429, 503, latency) have struck.
class GcpService
{
public:
    virtual ~GcpService() = default;

    /// `path` is what follows the prefix, in decoded segments: {"v1", "projects", "p", …}. A verb stays at
    /// the last one: "p:getIamPolicy". May throw nlohmann's exceptions for a body of the wrong shape:
    /// answered 400.
    virtual ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) = 0;

    /// For answers that are streamed or late. The default replies what handle() returns, or the part of it
    /// that the parameter `fields` asks for.
    virtual void serve(const std::shared_ptr<ServerExchange> &exchange, std::span<const std::string> path);

    /// How this API words errors that are found before it is asked (401, 404, 429, 503).
    [[nodiscard]] virtual ServerResponse errorFor(const GoogleError &error) const
    {
        return errorResponse(error);
    }

    /// For bodies that don't fit into memory: see ListenerOptions::openSink. On the io thread; the token has
    /// been checked. nullptr: the body is kept in memory.
    virtual std::shared_ptr<BodySink> openSink(const ServerRequest &request,
                                               std::span<const std::string> path);

    virtual void start() {} ///< resumes what a stopped process left unfinished
    virtual void stop() {} ///< ends threads; blocks until they have
};

} // namespace cluster::local
