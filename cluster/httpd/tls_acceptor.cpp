#include "cluster/httpd/socket_stream.h"
#include "cluster/httpd/socket_streams.h"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

namespace cluster {

namespace {

using TlsSocket = ssl::stream<asio::ip::tcp::socket>;

class TlsStream : public SocketStream<TlsSocket>
{
public:
    using SocketStream::SocketStream;

    /// A peer that goes without TLS's own good-bye is an end like any other: the layers above know lengths.
    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_stream->async_read_some(asio::buffer(buffer, size),
                                  [stream = m_stream, handler = std::move(handler)](
                                      const boost::system::error_code &error, std::size_t count) {
                                      const bool isCut = error == ssl::error::stream_truncated;
                                      handler(streamError(isCut ? asio::error::eof : error),
                                              error ? 0 : count);
                                  });
    }

    void shutdownWrite() override
    {
        m_stream->async_shutdown([stream = m_stream](const boost::system::error_code &) {});
    }
};

std::string commonNameOf(TlsSocket &socket)
{
    X509 *certificate = SSL_get1_peer_certificate(socket.native_handle());
    if (!certificate)
        return {};
    std::string name;
    X509_NAME *subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0) {
        unsigned char *text = nullptr;
        const int length
            = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        if (length > 0)
            name.assign(reinterpret_cast<const char *>(text), static_cast<std::size_t>(length));
        OPENSSL_free(text);
    }
    X509_free(certificate);
    return name;
}

/// We speak HTTP/1.1 only, and say so to those who ask.
int chooseProtocol(SSL *, const unsigned char **chosen, unsigned char *chosenLength,
                   const unsigned char *offered, unsigned offeredLength, void *)
{
    static constexpr unsigned char kHttp11[] = "\x08http/1.1";
    unsigned char *selected = nullptr;
    const int found
        = SSL_select_next_proto(&selected, chosenLength, kHttp11, sizeof kHttp11 - 1, offered, offeredLength);
    *chosen = selected;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

} // namespace

class TlsAcceptor::Private
{
public:
    ssl::context context{ssl::context::tls_server};
};

TlsAcceptor::TlsAcceptor(std::unique_ptr<Private> d) : d(std::move(d)) {}
TlsAcceptor::~TlsAcceptor() = default;

Result<std::unique_ptr<TlsAcceptor>> TlsAcceptor::make(const TlsIdentity &identity)
{
    auto d = std::make_unique<Private>();
    ssl::context &context = d->context;
    boost::system::error_code error;
    context.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::single_dh_use,
                        error);
    if (!error)
        context.use_certificate_chain(asio::buffer(identity.certificatePem), error);
    if (!error)
        context.use_private_key(asio::buffer(identity.privateKeyPem), ssl::context::pem, error);
    if (!error && !identity.clientCaPem.empty()) {
        context.add_certificate_authority(asio::buffer(identity.clientCaPem), error);
        const auto mode = identity.requireClientCertificate
            ? ssl::verify_peer | ssl::verify_fail_if_no_peer_cert
            : ssl::verify_peer;
        if (!error)
            context.set_verify_mode(mode, error);
    }
    if (error)
        return fail(ErrorCode::InvalidArgument,
                    "TLS: certificate, key or CA can't be used: " + error.message());
    SSL_CTX_set_alpn_select_cb(context.native_handle(), chooseProtocol, nullptr);
    // Sessions are resumed by name only within a context id; without one, OpenSSL refuses clients that try.
    static constexpr unsigned char kId[] = "slipway";
    SSL_CTX_set_session_id_context(context.native_handle(), kId, sizeof kId - 1);
    return std::unique_ptr<TlsAcceptor>(new TlsAcceptor(std::move(d)));
}

void TlsAcceptor::handshake(asio::ip::tcp::socket socket, std::chrono::milliseconds timeout, Done done)
{
    auto stream = std::make_shared<TlsSocket>(std::move(socket), d->context);
    auto timer = std::make_shared<asio::steady_timer>(stream->get_executor(), timeout);
    timer->async_wait([stream](const boost::system::error_code &error) {
        boost::system::error_code ignored;
        if (!error)
            stream->lowest_layer().close(ignored);
    });
    stream->async_handshake(ssl::stream_base::server,
                            [stream, timer, done = std::move(done)](const boost::system::error_code &error) {
                                timer->cancel();
                                if (error)
                                    done(nullptr, {});
                                else
                                    done(std::make_unique<TlsStream>(stream), commonNameOf(*stream));
                            });
}

} // namespace cluster
