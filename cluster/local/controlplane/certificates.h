#pragma once

#include "cluster/base/result.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

/// A certificate and its private key, both PEM.
struct PemPair
{
    std::string certificate;
    std::string key;
};

/// Whom a certificate is for.
struct CertificateSubject
{
    std::string commonName; ///< of a client: the Kubernetes user
    std::vector<std::string> organizations; ///< of a client: the Kubernetes groups
    std::vector<std::string> dnsNames; ///< of a server
    std::vector<std::string> addresses; ///< of a server: IPv4 or IPv6 in text form
    bool server = false; ///< may serve (else it is a client's)
};

using CertificateTime = std::chrono::system_clock::time_point;

/// Signs certificates with keys of P-256. Errors of OpenSSL come back as Internal with its words.
class CertificateAuthority
{
public:
    static Result<CertificateAuthority> create(const std::string &commonName, CertificateTime now);
    static Result<CertificateAuthority>
    load(PemPair pem); ///< InvalidArgument: not PEM, or key and certificate differ

    CertificateAuthority(CertificateAuthority &&) noexcept;
    CertificateAuthority &operator=(CertificateAuthority &&) noexcept;
    ~CertificateAuthority();

    /// Valid from an hour before `now` (clocks differ) for a year.
    [[nodiscard]] Result<PemPair> issue(const CertificateSubject &subject, CertificateTime now) const;
    [[nodiscard]] const PemPair &pem() const;

private:
    struct Keys;
    explicit CertificateAuthority(std::unique_ptr<Keys> keys);
    std::unique_ptr<Keys> m_keys;
};

/// A fresh key pair for service account tokens: `certificate` is the public key.
Result<PemPair> makeSigningKeys();

/// When it ends to be valid. InvalidArgument: not a certificate in PEM.
Result<CertificateTime> certificateExpiry(const std::string &certificatePem);

/// True if `certificatePem` was signed by `authorityPem` and is valid for all names, addresses and the
/// purpose of `subject` at `now`.
bool certificateFits(const std::string &certificatePem, const std::string &authorityPem,
                     const CertificateSubject &subject, CertificateTime now);

} // namespace cluster::local
