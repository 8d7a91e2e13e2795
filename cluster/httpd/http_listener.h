#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/server_exchange.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace boost::asio {
class io_context;
}

namespace cluster {

/// What a TLS server shows and asks, all PEM.
struct TlsIdentity
{
    std::string certificatePem; ///< leaf first, then the chain
    std::string privateKeyPem;
    std::string clientCaPem; ///< not empty: clients are asked for a certificate of this CA
    bool requireClientCertificate = false;
};

struct ListenerLimits
{
    std::size_t maxHeaderBytes = 64 * 1024; ///< more: 431
    std::size_t maxBodyBytes = std::size_t{16} << 20; ///< more: 413
    std::size_t maxBacklogBytes = 1 << 20; ///< of a streamed answer, see ServerExchange::writeAndWait
    std::size_t maxConnections = 512; ///< one more: the longest idle goes; others wait
    std::chrono::milliseconds headerTimeout{20000}; ///< TLS handshake and header; then 408
    std::chrono::milliseconds bodyTimeout{120000}; ///< the whole body; then 408
    std::chrono::milliseconds idleTimeout{90000}; ///< between requests
    std::chrono::milliseconds writeTimeout{60000}; ///< without any progress; then closed
};

/// The two ends of a TCP connection over IPv4, in the byte order of numbers; zero where it is another kind.
struct ConnectionEnds
{
    std::uint32_t local = 0, remote = 0; ///< addresses
    std::uint16_t localPort = 0, remotePort = 0;
};

struct ListenerOptions
{
    std::string address = "127.0.0.1";
    unsigned short port = 0; ///< 0: any free one, see HttpListener::port
    std::string unixPath; ///< not empty: a Unix socket of mode 0600 instead of TCP; a stale one is replaced
    std::optional<TlsIdentity> tls;
    ListenerLimits limits;
    std::string serverName = "slipway"; ///< of the Server header
    /// Asked for each connection, before anything is read; false closes it. Empty: all are taken.
    std::function<bool(const ConnectionEnds &)> admits = {};
    /// Asked when the header of a request with a body is there (method, path, query, headers are set): a sink
    /// for the body, or nullptr, which keeps it in memory and under maxBodyBytes. On the io thread. Bodies
    /// for a sink may be of any size and take any time, as long as bytes come within bodyTimeout.
    std::function<std::shared_ptr<BodySink>(const ServerRequest &)> openSink;
};

/// An HTTP/1.1 server: keep-alive, chunked both ways, Expect: 100-continue, upgrades and CONNECT. Knows no
/// protocol above HTTP. Lives on one io_context that one thread runs; open, close and destroy on that thread,
/// or while it does not run.
class HttpListener
{
public:
    /// Called on the io thread. An exception from it is answered 500.
    using Handler = std::function<void(std::shared_ptr<ServerExchange>)>;

    /// Errors: AlreadyExists (the port or the socket is in use), InvalidArgument (address, PEM), Internal.
    static Result<std::unique_ptr<HttpListener>> open(boost::asio::io_context &io, ListenerOptions options,
                                                      Handler handler);
    ~HttpListener(); ///< closes
    HttpListener(const HttpListener &) = delete;
    HttpListener &operator=(const HttpListener &) = delete;

    [[nodiscard]] unsigned short port() const;
    [[nodiscard]] std::size_t connectionCount() const; ///< on the io thread; without those that were upgraded
    void close(); ///< no new connections, those there are cut; upgraded ones belong to who has them

private:
    class Private;
    explicit HttpListener(std::shared_ptr<Private> d);
    std::shared_ptr<Private> d;
};

} // namespace cluster
