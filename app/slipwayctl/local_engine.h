#pragma once

#include "cluster/base/result.h"
#include "cluster/modelstore/stored_model.h"
#include "cluster/net/http_client.h"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace slipwayctl {

/// The path of a program of ours: beside `programPath`, else on PATH. Errors: NotFound.
cluster::Result<std::string> findProgram(const std::string &name, const std::string &programPath);

/// The path of slipway-engine.
cluster::Result<std::string> findEngine(const std::string &programPath);

/// An engine of our own on a free loopback port, for as long as this object lives.
class LocalEngine
{
public:
    /// Starts it and waits until it can answer.
    /// Errors: NotFound (no engine), FailedPrecondition with its last words when it ends instead, Cancelled.
    static cluster::Result<LocalEngine> start(const std::string &programPath,
                                              const cluster::StoredModel &model, cluster::HttpClient &http,
                                              const cluster::CancelToken &cancel);
    LocalEngine(LocalEngine &&other) noexcept;
    LocalEngine &operator=(LocalEngine &&other) = delete;
    ~LocalEngine(); ///< ends the process and waits for its end

    [[nodiscard]] const std::string &baseUrl() const { return m_baseUrl; }

private:
    LocalEngine(pid_t pid, std::string baseUrl, std::string logPath);
    cluster::Status waitUntilReady(cluster::HttpClient &http, const cluster::CancelToken &cancel);
    [[nodiscard]] std::string lastWords() const;

    pid_t m_pid;
    std::string m_baseUrl;
    std::string m_logPath;
};

} // namespace slipwayctl
