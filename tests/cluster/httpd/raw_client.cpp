#include "tests/cluster/httpd/raw_client.h"

#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace tests {

namespace {

int connected(int socket, const sockaddr *address, socklen_t size)
{
    const timeval patience{10, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket, address, size) == 0)
        return socket;
    ::close(socket);
    return -1;
}

std::string textOf(BIO *bio)
{
    char *bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    std::string text(bytes, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
}

X509 *certificateOf(const std::string &pem)
{
    BIO *bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    X509 *certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    return certificate;
}

EVP_PKEY *keyOf(const std::string &pem)
{
    BIO *bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    return key;
}

} // namespace

RawClient RawClient::tcp(unsigned short port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return RawClient(connected(socket, reinterpret_cast<const sockaddr *>(&address), sizeof address));
}

RawClient RawClient::local(const std::string &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return RawClient(connected(socket, reinterpret_cast<const sockaddr *>(&address), sizeof address));
}

RawClient::RawClient(RawClient &&other) noexcept
    : m_socket(std::exchange(other.m_socket, -1)), m_context(std::exchange(other.m_context, nullptr)),
      m_tls(std::exchange(other.m_tls, nullptr)), m_input(std::move(other.m_input))
{
}

RawClient::~RawClient()
{
    SSL_free(m_tls);
    SSL_CTX_free(m_context);
    if (m_socket >= 0)
        ::close(m_socket);
}

bool RawClient::startTls(const std::string &caPem, const std::string &certificatePem,
                         const std::string &keyPem)
{
    m_context = SSL_CTX_new(TLS_client_method());
    X509 *ca = certificateOf(caPem);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(m_context), ca);
    X509_free(ca);
    SSL_CTX_set_verify(m_context, SSL_VERIFY_PEER, nullptr);
    if (!certificatePem.empty()) {
        X509 *own = certificateOf(certificatePem);
        EVP_PKEY *key = keyOf(keyPem);
        SSL_CTX_use_certificate(m_context, own);
        SSL_CTX_use_PrivateKey(m_context, key);
        X509_free(own);
        EVP_PKEY_free(key);
    }
    m_tls = SSL_new(m_context);
    SSL_set_fd(m_tls, m_socket);
    return SSL_connect(m_tls) == 1;
}

bool RawClient::send(const std::string &bytes)
{
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto count = m_tls
            ? SSL_write(m_tls, bytes.data() + done, static_cast<int>(bytes.size() - done))
            : ::send(m_socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

void RawClient::finishSending()
{
    ::shutdown(m_socket, SHUT_WR);
}

void RawClient::reset()
{
    const linger now{1, 0};
    ::setsockopt(m_socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(std::exchange(m_socket, -1));
}

std::string RawClient::readSome()
{
    if (!m_input.empty())
        return std::exchange(m_input, {});
    char buffer[16384];
    const auto count
        = m_tls ? SSL_read(m_tls, buffer, sizeof buffer) : ::recv(m_socket, buffer, sizeof buffer, 0);
    return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : std::string();
}

std::string RawClient::readUntil(const std::string &mark)
{
    std::string text;
    for (;;) {
        if (const auto at = text.find(mark); at != std::string::npos) {
            m_input = text.substr(at + mark.size()) + m_input;
            return text.substr(0, at + mark.size());
        }
        const std::string more = readSome();
        if (more.empty())
            return text;
        text += more;
    }
}

std::string RawClient::readAll()
{
    std::string text;
    for (;;) {
        const std::string more = readSome();
        if (more.empty())
            return text;
        text += more;
    }
}

std::string RawClient::readAnswer(bool hasBody)
{
    std::string answer = readUntil("\r\n\r\n");
    if (!hasBody)
        return answer;
    if (answer.find("transfer-encoding: chunked") != std::string::npos) {
        for (;;) {
            const std::string line = readUntil("\r\n");
            const auto size = std::strtoul(line.c_str(), nullptr, 16);
            std::string chunk;
            while (chunk.size() < size + 2) {
                const std::string more = readSome();
                if (more.empty())
                    return answer + chunk;
                chunk += more;
            }
            m_input = chunk.substr(size + 2) + m_input;
            if (size == 0)
                return answer;
            answer += chunk.substr(0, size);
        }
    }
    const auto at = answer.find("content-length: ");
    const auto size = at == std::string::npos ? 0 : std::strtoul(answer.c_str() + at + 16, nullptr, 10);
    std::string body;
    while (body.size() < size) {
        const std::string more = readSome();
        if (more.empty())
            break;
        body += more;
    }
    if (body.size() > size)
        m_input = body.substr(size) + m_input;
    return answer + body.substr(0, size);
}

TestCertificate makeCertificate(const std::string &commonName, const TestCertificate *issuer)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    static long serial = 1;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char *>(commonName.c_str()), -1, -1, 0);
    X509 *signer = issuer ? certificateOf(issuer->certificatePem) : nullptr;
    EVP_PKEY *signerKey = issuer ? keyOf(issuer->keyPem) : nullptr;
    X509_set_issuer_name(certificate, signer ? X509_get_subject_name(signer) : name);
    X509_EXTENSION *ca = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints,
                                             issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
    X509_add_ext(certificate, ca, -1);
    X509_EXTENSION_free(ca);
    X509_sign(certificate, signerKey ? signerKey : key, EVP_sha256());
    BIO *text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(text, certificate);
    BIO *keyText = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(keyText, key, nullptr, nullptr, 0, nullptr, nullptr);
    TestCertificate made{textOf(text), textOf(keyText)};
    X509_free(certificate);
    X509_free(signer);
    EVP_PKEY_free(key);
    EVP_PKEY_free(signerKey);
    return made;
}

} // namespace tests
