#pragma once

#include "cluster/local/daemon/daemon_state.h"
#include "cluster/net/http_client.h"

#include <nlohmann/json_fwd.hpp>

namespace cluster::local {

/// Asks the running daemon over its own part of the wire, /slipway/v1. Calls block.
class DaemonClient
{
public:
    /// Errors: FailedPrecondition if no daemon runs in this folder.
    [[nodiscard]] static Result<DaemonClient> find(HttpClient &http, const LocalPaths &paths);

    /// `path` without the leading /slipway/v1/. An answer of 4xx or 5xx is an error with the daemon's words.
    [[nodiscard]] Result<nlohmann::json> ask(std::string_view method, std::string_view path,
                                             const std::string &body = {},
                                             const CancelToken &cancel = {}) const;

    [[nodiscard]] const DaemonState &state() const { return m_state; }

private:
    DaemonClient(HttpClient &http, LocalPaths paths, DaemonState state, std::string token);

    HttpClient *m_http;
    LocalPaths m_paths;
    DaemonState m_state;
    std::string m_token;
};

} // namespace cluster::local
