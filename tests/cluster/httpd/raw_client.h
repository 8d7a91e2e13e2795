#pragma once

#include <openssl/ssl.h>
#include <string>

namespace tests {

/// A client that sends exactly the bytes it is told to, over TCP, TLS or a Unix socket. Blocks, for 10 s at
/// most.
class RawClient
{
public:
    static RawClient tcp(unsigned short port);
    static RawClient local(const std::string &path);
    RawClient(RawClient &&other) noexcept;
    RawClient &operator=(RawClient &&) = delete;
    ~RawClient();

    /// Trusts `caPem`; shows a certificate when there is one. False if the handshake fails.
    bool startTls(const std::string &caPem, const std::string &certificatePem = {},
                  const std::string &keyPem = {});

    bool send(const std::string &bytes);
    void finishSending(); ///< half-closes
    void reset(); ///< closes so that the server sees a reset
    [[nodiscard]] bool isConnected() const { return m_socket >= 0; }

    std::string readSome(); ///< empty at the end
    std::string readUntil(const std::string &mark); ///< up to and with the mark, or all until the end
    std::string readAll(); ///< until the end
    /// One answer with Content-Length or chunks, which are put together.
    std::string readAnswer(bool hasBody = true);

private:
    explicit RawClient(int socket) : m_socket(socket) {}

    int m_socket;
    SSL_CTX *m_context = nullptr;
    SSL *m_tls = nullptr;
    std::string m_input;
};

/// A key and a certificate signed by itself, or by `issuer`.
struct TestCertificate
{
    std::string certificatePem;
    std::string keyPem;
};
TestCertificate makeCertificate(const std::string &commonName, const TestCertificate *issuer = nullptr);

} // namespace tests
