#include "cluster/local/daemon/daemon_client.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace cluster::local {

namespace {

ErrorCode codeOf(int status)
{
    switch (status) {
    case 400:
        return ErrorCode::InvalidArgument;
    case 401:
        return ErrorCode::Unauthenticated;
    case 404:
        return ErrorCode::NotFound;
    case 409:
        return ErrorCode::AlreadyExists;
    case 503:
        return ErrorCode::Unavailable;
    default:
        return ErrorCode::Internal;
    }
}

} // namespace

DaemonClient::DaemonClient(HttpClient &http, LocalPaths paths, DaemonState state, std::string token)
    : m_http(&http), m_paths(std::move(paths)), m_state(std::move(state)), m_token(std::move(token))
{
}

Result<DaemonClient> DaemonClient::find(HttpClient &http, const LocalPaths &paths)
{
    const auto state = readDaemonState(paths);
    if (!state && DaemonLock::isHeld(paths))
        return fail(ErrorCode::DataLoss,
                    "the local target runs (pid " + std::to_string(DaemonLock::holder(paths)) + "), but "
                        + paths.daemonState().string()
                        + " can't be read: 'slipwayctl local stop' and start mend it");
    if (!state || !DaemonLock::isHeld(paths))
        return fail(ErrorCode::FailedPrecondition,
                    "the local target does not run: 'slipwayctl local start' starts it");
    Result<std::string> token = tokenOf(paths);
    if (!token)
        return tl::unexpected(token.error());
    return DaemonClient(http, paths, *state, std::move(*token));
}

Result<nlohmann::json> DaemonClient::ask(std::string_view method, std::string_view path,
                                         const std::string &body, const CancelToken &cancel) const
{
    HttpRequest request;
    request.method = method;
    request.url = m_state.url() + "/slipway/v1/" + std::string(path);
    request.headers = {{"Authorization", "Bearer " + m_token}};
    if (!body.empty())
        request.headers.push_back({"Content-Type", "application/json"});
    request.body = body;
    HttpOptions options;
    options.caFile = m_paths.caFile().string();
    options.connectTimeout = std::chrono::seconds(5);
    options.cancel = cancel;
    const Result<HttpResponse> response = m_http->send(request, options);
    if (!response)
        return tl::unexpected(response.error());
    const nlohmann::json answer = nlohmann::json::parse(response->body, nullptr, false);
    if (response->status >= 400) {
        std::string text = "the local target answered with status " + std::to_string(response->status);
        if (answer.is_object() && answer.contains("error") && answer["error"].is_object())
            text = answer["error"].value("message", text);
        return fail(codeOf(response->status), text);
    }
    if (answer.is_discarded())
        return fail(ErrorCode::DataLoss,
                    "the local target's answer can't be read: is something else on port "
                        + std::to_string(m_state.port) + "?");
    return answer;
}

} // namespace cluster::local
