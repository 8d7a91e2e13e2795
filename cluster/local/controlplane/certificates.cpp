#include "cluster/local/controlplane/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>

namespace cluster::local {
namespace {

constexpr std::chrono::hours clockTolerance{1};
constexpr std::chrono::hours certificateLife{24 * 365};
constexpr std::chrono::hours authorityLife{24 * 3650};

struct Freeing
{
    void operator()(BIO *p) const { BIO_free(p); }
    void operator()(EVP_PKEY *p) const { EVP_PKEY_free(p); }
    void operator()(X509 *p) const { X509_free(p); }
    void operator()(X509_EXTENSION *p) const { X509_EXTENSION_free(p); }
    void operator()(ASN1_TIME *p) const { ASN1_TIME_free(p); }
    void operator()(BIGNUM *p) const { BN_free(p); }
};
template<typename T>
using Owned = std::unique_ptr<T, Freeing>;

tl::unexpected<Error> opensslFailure(const std::string &what)
{
    std::array<char, 200> text{};
    ERR_error_string_n(ERR_get_error(), text.data(), text.size());
    ERR_clear_error();
    return fail(ErrorCode::Internal, what + ": OpenSSL says " + text.data());
}

std::string contentsOf(BIO *bio)
{
    char *data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string certificateText(X509 *certificate)
{
    const Owned<BIO> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), certificate);
    return contentsOf(bio.get());
}

std::string privateKeyText(EVP_PKEY *key)
{
    const Owned<BIO> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return contentsOf(bio.get());
}

Owned<X509> readCertificate(const std::string &pem)
{
    const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return Owned<X509>(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> readPrivateKey(const std::string &pem)
{
    const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> makeKey()
{
    return Owned<EVP_PKEY>(EVP_EC_gen("P-256"));
}

bool addName(X509_NAME *name, const char *field, const std::string &value)
{
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char *>(value.data()),
                                      static_cast<int>(value.size()), -1, 0)
        == 1;
}

bool addExtension(X509 *certificate, X509 *issuer, int id, const std::string &value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool setTimes(X509 *certificate, CertificateTime from, CertificateTime until)
{
    const std::time_t first = std::chrono::system_clock::to_time_t(from);
    const std::time_t last = std::chrono::system_clock::to_time_t(until);
    return ASN1_TIME_set(X509_getm_notBefore(certificate), first) != nullptr
        && ASN1_TIME_set(X509_getm_notAfter(certificate), last) != nullptr;
}

/// 127 random bits: positive, and never the same twice.
bool setSerial(X509 *certificate)
{
    const Owned<BIGNUM> number(BN_new());
    return BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1
        && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

/// The separators of OpenSSL's own notation must not come from a name.
bool isPlain(const std::string &text)
{
    return !text.empty() && text.find_first_of(",:\n\r;") == std::string::npos;
}

Result<std::string> alternativeNames(const CertificateSubject &subject)
{
    std::string names;
    for (const std::string &name : subject.dnsNames) {
        if (!isPlain(name))
            return fail(ErrorCode::InvalidArgument, "'" + name + "' is no host name for a certificate");
        names += (names.empty() ? "DNS:" : ",DNS:") + name;
    }
    for (const std::string &address : subject.addresses) {
        if (address.find_first_not_of("0123456789abcdefABCDEF.:") != std::string::npos || address.empty())
            return fail(ErrorCode::InvalidArgument, "'" + address + "' is no address for a certificate");
        names += (names.empty() ? "IP:" : ",IP:") + address;
    }
    return names;
}

bool fillSubject(X509 *certificate, const CertificateSubject &subject)
{
    X509_NAME *name = X509_get_subject_name(certificate);
    for (const std::string &organization : subject.organizations) {
        if (!addName(name, "O", organization))
            return false;
    }
    return addName(name, "CN", subject.commonName);
}

bool fillLeaf(X509 *certificate, X509 *issuer, const CertificateSubject &subject, const std::string &names)
{
    return fillSubject(certificate, subject)
        && addExtension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE")
        && addExtension(certificate, issuer, NID_key_usage, "critical,digitalSignature")
        && addExtension(certificate, issuer, NID_ext_key_usage, subject.server ? "serverAuth" : "clientAuth")
        && addExtension(certificate, issuer, NID_authority_key_identifier, "keyid:always")
        && (names.empty() || addExtension(certificate, issuer, NID_subject_alt_name, names));
}

bool fillAuthority(X509 *certificate, const std::string &commonName)
{
    return addName(X509_get_subject_name(certificate), "CN", commonName)
        && X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1
        && addExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE")
        && addExtension(certificate, certificate, NID_key_usage,
                        "critical,digitalSignature,keyCertSign,cRLSign")
        && addExtension(certificate, certificate, NID_subject_key_identifier, "hash");
}

bool isValidFor(X509 *certificate, const CertificateSubject &subject)
{
    for (const std::string &name : subject.dnsNames) {
        if (X509_check_host(certificate, name.data(), name.size(), 0, nullptr) != 1)
            return false;
    }
    for (const std::string &address : subject.addresses) {
        if (X509_check_ip_asc(certificate, address.c_str(), 0) != 1)
            return false;
    }
    const Owned<X509> wanted(X509_new());
    return fillSubject(wanted.get(), subject)
        && X509_NAME_cmp(X509_get_subject_name(wanted.get()), X509_get_subject_name(certificate)) == 0;
}

} // namespace

struct CertificateAuthority::Keys
{
    Owned<X509> certificate;
    Owned<EVP_PKEY> key;
    PemPair pem;
};

CertificateAuthority::CertificateAuthority(std::unique_ptr<Keys> keys) : m_keys(std::move(keys)) {}
CertificateAuthority::CertificateAuthority(CertificateAuthority &&) noexcept = default;
CertificateAuthority &CertificateAuthority::operator=(CertificateAuthority &&) noexcept = default;
CertificateAuthority::~CertificateAuthority() = default;

const PemPair &CertificateAuthority::pem() const
{
    return m_keys->pem;
}

Result<CertificateAuthority> CertificateAuthority::create(const std::string &commonName, CertificateTime now)
{
    auto keys = std::make_unique<Keys>();
    keys->certificate.reset(X509_new());
    keys->key = makeKey();
    X509 *certificate = keys->certificate.get();
    const bool isMade = certificate != nullptr && keys->key
        && X509_set_version(certificate, X509_VERSION_3) == 1 && setSerial(certificate)
        && setTimes(certificate, now - clockTolerance, now + authorityLife)
        && X509_set_pubkey(certificate, keys->key.get()) == 1 && fillAuthority(certificate, commonName)
        && X509_sign(certificate, keys->key.get(), EVP_sha256()) > 0;
    if (!isMade)
        return opensslFailure("cannot make the certificate authority '" + commonName + "'");
    keys->pem = PemPair{certificateText(certificate), privateKeyText(keys->key.get())};
    return CertificateAuthority(std::move(keys));
}

Result<CertificateAuthority> CertificateAuthority::load(PemPair pem)
{
    auto keys = std::make_unique<Keys>();
    keys->certificate = readCertificate(pem.certificate);
    keys->key = readPrivateKey(pem.key);
    const bool isPair = keys->certificate && keys->key
        && X509_check_private_key(keys->certificate.get(), keys->key.get()) == 1;
    ERR_clear_error();
    if (!isPair)
        return fail(ErrorCode::InvalidArgument, "not a certificate authority and its key in PEM");
    keys->pem = std::move(pem);
    return CertificateAuthority(std::move(keys));
}

Result<PemPair> CertificateAuthority::issue(const CertificateSubject &subject, CertificateTime now) const
{
    const auto names = alternativeNames(subject);
    if (!names)
        return tl::unexpected(names.error());
    const Owned<EVP_PKEY> key = makeKey();
    const Owned<X509> owned(X509_new());
    X509 *certificate = owned.get();
    X509 *issuer = m_keys->certificate.get();
    const bool isMade = certificate != nullptr && key && X509_set_version(certificate, X509_VERSION_3) == 1
        && setSerial(certificate) && setTimes(certificate, now - clockTolerance, now + certificateLife)
        && X509_set_pubkey(certificate, key.get()) == 1
        && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1
        && fillLeaf(certificate, issuer, subject, *names)
        && X509_sign(certificate, m_keys->key.get(), EVP_sha256()) > 0;
    if (!isMade)
        return opensslFailure("cannot make a certificate for '" + subject.commonName + "'");
    return PemPair{certificateText(certificate), privateKeyText(key.get())};
}

Result<PemPair> makeSigningKeys()
{
    const Owned<EVP_PKEY> key = makeKey();
    const Owned<BIO> bio(BIO_new(BIO_s_mem()));
    if (!key || PEM_write_bio_PUBKEY(bio.get(), key.get()) != 1)
        return opensslFailure("cannot make the keys for service accounts");
    return PemPair{contentsOf(bio.get()), privateKeyText(key.get())};
}

Result<CertificateTime> certificateExpiry(const std::string &certificatePem)
{
    const Owned<X509> certificate = readCertificate(certificatePem);
    std::tm when{};
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &when) != 1) {
        ERR_clear_error();
        return fail(ErrorCode::InvalidArgument, "not a certificate in PEM");
    }
    return std::chrono::system_clock::from_time_t(::timegm(&when));
}

bool certificateFits(const std::string &certificatePem, const std::string &authorityPem,
                     const CertificateSubject &subject, CertificateTime now)
{
    const Owned<X509> certificate = readCertificate(certificatePem);
    const Owned<X509> authority = readCertificate(authorityPem);
    std::time_t moment = std::chrono::system_clock::to_time_t(now);
    const bool fits = certificate && authority
        && X509_verify(certificate.get(), X509_get0_pubkey(authority.get())) == 1
        && X509_cmp_time(X509_get0_notBefore(certificate.get()), &moment) < 0
        && X509_cmp_time(X509_get0_notAfter(certificate.get()), &moment) > 0
        && X509_check_purpose(certificate.get(),
                              subject.server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT, 0)
            == 1
        && isValidFor(certificate.get(), subject);
    ERR_clear_error();
    return fits;
}

} // namespace cluster::local
