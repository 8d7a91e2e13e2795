#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"
#include "cluster/local/controlplane/control_plane.h"
#include "cluster/net/http_client.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

class ProcessSupervisor;

struct PrometheusSetup
{
    std::filesystem::path program;
    std::filesystem::path folder; ///< its own: configuration, keys, samples, log
    std::function<void(const ProcessEvent &)> onEvent;
};

/// The real Prometheus as a supervised child: on 127.0.0.1 alone, answering only to us (TLS with a client's
/// certificate of a CA of its own), with bounds to its memory, its samples' age and size, and its queries. It
/// ends with this process.
class PrometheusProcess
{
public:
    /// Returns when it is ready, with no scrapes but those of `scrapes` (a list). Errors: FailedPrecondition,
    /// Unavailable (it ended; its last words), DeadlineExceeded, Cancelled.
    static Result<std::unique_ptr<PrometheusProcess>>
    start(PrometheusSetup setup, const nlohmann::json &scrapes, const CancelToken &cancel);
    ~PrometheusProcess(); ///< ends it, the samples are kept
    PrometheusProcess(const PrometheusProcess &) = delete;
    PrometheusProcess &operator=(const PrometheusProcess &) = delete;

    /// From now on these. InvalidArgument: Prometheus refuses them (its words) and goes on as before.
    Status reload(const nlohmann::json &scrapes, const CancelToken &cancel);

    /// `target`: path and query. A Prometheus that is being started again is waited for a while.
    Result<HttpResponse> ask(HttpRequest request, const std::string &target, const CancelToken &cancel);

    [[nodiscard]] ProcessState state() const;

private:
    explicit PrometheusProcess(PrometheusSetup setup);
    Status prepare();
    Status writeConfig(const nlohmann::json &scrapes) const;
    Status launch(const CancelToken &cancel);
    Status awaitReady(const CancelToken &cancel);
    Result<HttpResponse> send(HttpRequest request, const std::string &target, Deadline deadline,
                              const CancelToken &cancel);
    [[nodiscard]] std::vector<std::string> arguments() const;

    PrometheusSetup m_setup;
    HttpClient m_http;
    HttpOptions m_access;
    std::uint16_t m_port = 0;
    std::unique_ptr<ProcessSupervisor> m_supervisor;
};

} // namespace cluster::local
