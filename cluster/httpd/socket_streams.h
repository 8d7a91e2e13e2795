#pragma once

#include "cluster/httpd/byte_stream.h"
#include "cluster/httpd/http_listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>

namespace cluster {

std::unique_ptr<ByteStream> streamOf(boost::asio::ip::tcp::socket socket);
std::unique_ptr<ByteStream> streamOf(boost::asio::local::stream_protocol::socket socket);

/// The server's side of TLS, for any number of connections.
class TlsAcceptor
{
public:
    /// InvalidArgument for PEM texts that do not fit.
    static Result<std::unique_ptr<TlsAcceptor>> make(const TlsIdentity &identity);
    ~TlsAcceptor();

    /// Called once, with nothing if the handshake failed, was cut or took longer than `timeout`; the text is
    /// the common name in the client's certificate.
    using Done = std::function<void(std::unique_ptr<ByteStream>, std::string)>;
    void handshake(boost::asio::ip::tcp::socket socket, std::chrono::milliseconds timeout, Done done);

private:
    class Private;
    explicit TlsAcceptor(std::unique_ptr<Private> d);
    std::unique_ptr<Private> d;
};

} // namespace cluster
