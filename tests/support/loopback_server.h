#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tests {

struct ReceivedRequest
{
    std::string method; ///< "TLS" where the client wants TLS, which this server does not speak
    std::string target; ///< path with query
    std::map<std::string, std::string> headers; ///< names in lower case
    std::string body;
};

/// One connection as its handler sees it: a byte pipe, so that a test can answer slowly, half, or with
/// garbage.
class Exchange
{
public:
    virtual ~Exchange() = default;

    [[nodiscard]] virtual const ReceivedRequest &request() const = 0;

    /// False once the client is gone (or the server is being ended).
    virtual bool write(std::string_view bytes) = 0;

    /// A whole answer with Content-Length.
    bool respond(int status, std::string_view contentType, std::string_view body,
                 const std::vector<std::pair<std::string, std::string>> &headers = {});
    /// Head of a chunked answer; then writeChunk()... and endChunks().
    bool beginChunked(int status, std::string_view contentType);
    bool writeChunk(std::string_view bytes);
    bool endChunks();

    /// Says nothing until the client closes its connection: true. False when `limit` passes or the server
    /// ends first.
    virtual bool waitForClientToLeave(std::chrono::milliseconds limit = std::chrono::seconds(20)) = 0;

    /// Ends the connection with a reset instead of an orderly close.
    virtual void reset() = 0;
};

/// An HTTP/1.1 server on 127.0.0.1 for tests. Each connection is one request and one call of the handler, on
/// a thread of its own; when the handler returns, the connection is closed: also in the middle of an answer,
/// if it wants that.
class LoopbackServer
{
public:
    using Handler = std::function<void(Exchange &)>;

    /// Throws std::runtime_error if it can't listen.
    explicit LoopbackServer(Handler handler);
    ~LoopbackServer(); ///< closes every connection and joins every thread

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] std::string url(std::string_view path = "") const; ///< "http://127.0.0.1:<port><path>"
    [[nodiscard]] std::vector<ReceivedRequest> requests() const; ///< so far, in order of arrival
    /// How many connections are open now; wait for it with QTRY_COMPARE.
    [[nodiscard]] int openConnections() const;

private:
    class Private;
    std::unique_ptr<Private> d;
};

} // namespace tests
