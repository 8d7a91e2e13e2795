#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"
#include "cluster/base/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

struct HttpHeader
{
    std::string name;
    std::string value;
};

struct HttpRequest
{
    std::string method = "GET";
    std::string url; ///< http or https, absolute
    std::vector<HttpHeader> headers;
    std::string body;
};

struct HttpResponse
{
    int status = 0;
    std::vector<HttpHeader> headers;
    std::string body; ///< empty after stream(): the data handler had it
    std::string url; ///< the one that answered, after redirects

    /// The first header of this name, in any case. The view lives as long as this response.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

struct HttpOptions
{
    std::chrono::milliseconds connectTimeout{10000};
    /// Longest silence once connected, before and between bytes. Zero: silence is no error (a model may think
    /// long).
    std::chrono::milliseconds idleTimeout{0};
    Deadline deadline;
    CancelToken cancel;
    bool followRedirects = false; ///< an Authorization header is not sent on to another host
    std::size_t maxBodyBytes = std::size_t{64} << 20; ///< of send(): more is ResourceExhausted
    std::string caFile; ///< PEM; empty: the system's certificates
    std::string clientCertFile; ///< PEM, with its chain; empty: none is shown to the server
    std::string clientKeyFile; ///< PEM; empty: in clientCertFile
};

/// What a handler wants after what it has seen: Stop ends the transfer early and is a success.
enum class Reading { Continue, Stop };

using HeadersHandler = std::function<Result<Reading>(const HttpResponse &)>;
using DataHandler = std::function<Result<Reading>(std::string_view)>;

/// HTTP by libcurl. Each call blocks its thread until the exchange is over, fails, is cancelled or runs out
/// of time; any number of threads may call at once, and connections are kept for the next call.
///
/// Errors: a status of 4xx or 5xx is a *successful* exchange. Cancelled (within some 50 ms, also from a
/// silent server), DeadlineExceeded (connect, idle, deadline), Unavailable (no such host, refused, cut before
/// the answer began), DataLoss (cut in the middle of the answer), FailedPrecondition (TLS), InvalidArgument
/// (URL, header), ResourceExhausted (body too large). The texts name the host, what happened and what to do.
///
/// Proxies are taken from the environment, never for a loopback address. TLS certificates are always checked.
class HttpClient
{
public:
    HttpClient();
    ~HttpClient();
    HttpClient(const HttpClient &) = delete;
    HttpClient &operator=(const HttpClient &) = delete;

    Result<HttpResponse> send(const HttpRequest &request, const HttpOptions &options = {});

    /// Hands the answer on as it arrives, on the calling thread: `onHeaders` once (interim and redirect
    /// answers are skipped), then `onData` for each piece, cut anywhere. An error of a handler ends the
    /// transfer and is returned.
    Result<HttpResponse> stream(const HttpRequest &request, const HeadersHandler &onHeaders,
                                const DataHandler &onData, const HttpOptions &options = {});

private:
    class ConnectionPool;
    std::unique_ptr<ConnectionPool> m_pool;
};

/// True for localhost, *.localhost, 127.0.0.0/8 and [::1] as the host of `url`.
bool isLoopbackUrl(std::string_view url);

/// "host" or "host:port" of `url` for messages, without user name, password, path or query.
std::string hostOfUrl(std::string_view url);

} // namespace cluster
