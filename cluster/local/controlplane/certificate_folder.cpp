#include "cluster/local/controlplane/certificate_folder.h"

#include "cluster/local/files/whole_files.h"

namespace cluster::local {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours renewalLead{24 * 30};
constexpr const char *authorityCertificate = "ca.crt";
constexpr const char *authorityKey = "ca.key";

/// Both files, or NotFound if one is not there.
Result<PemPair> readPair(const fs::path &certificate, const fs::path &key)
{
    auto certificatePem = readWholeFile(certificate);
    if (!certificatePem)
        return tl::unexpected(certificatePem.error());
    auto keyPem = readWholeFile(key);
    if (!keyPem)
        return tl::unexpected(keyPem.error());
    return PemPair{std::move(*certificatePem), std::move(*keyPem)};
}

/// The key first: a certificate without its key would look finished.
Status writePair(const fs::path &certificate, const fs::path &key, const PemPair &pem)
{
    if (auto written = writeWholeFile(key, pem.key); !written)
        return written;
    return writeWholeFile(certificate, pem.certificate);
}

bool isFresh(const std::string &certificatePem, CertificateTime now)
{
    const auto expiry = certificateExpiry(certificatePem);
    return expiry && *expiry > now + renewalLead;
}

} // namespace

CertificateFolder::CertificateFolder(fs::path dir, CertificateAuthority authority)
    : m_dir(std::move(dir)), m_authority(std::move(authority))
{
}

Result<CertificateFolder> CertificateFolder::open(fs::path dir, const std::string &authorityName,
                                                  CertificateTime now)
{
    if (auto made = makePrivateFolder(dir); !made)
        return tl::unexpected(made.error());
    auto stored = readPair(dir / authorityCertificate, dir / authorityKey);
    if (!stored && stored.error().code != ErrorCode::NotFound)
        return tl::unexpected(stored.error());
    if (stored && isFresh(stored->certificate, now)) {
        if (auto loaded = CertificateAuthority::load(std::move(*stored)))
            return CertificateFolder(std::move(dir), std::move(*loaded));
    }
    auto created = CertificateAuthority::create(authorityName, now);
    if (!created)
        return tl::unexpected(created.error());
    if (auto written = writePair(dir / authorityCertificate, dir / authorityKey, created->pem()); !written)
        return tl::unexpected(written.error());
    return CertificateFolder(std::move(dir), std::move(*created));
}

Result<IdentityFiles> CertificateFolder::identity(const std::string &name, const CertificateSubject &subject,
                                                  CertificateTime now) const
{
    IdentityFiles files{m_dir / (name + ".crt"), m_dir / (name + ".key"), {}};
    auto stored = readPair(files.certificateFile, files.keyFile);
    if (stored && isFresh(stored->certificate, now)
        && certificateFits(stored->certificate, authorityPem(), subject, now)) {
        files.pem = std::move(*stored);
        return files;
    }
    auto issued = m_authority.issue(subject, now);
    if (!issued)
        return tl::unexpected(issued.error());
    if (auto written = writePair(files.certificateFile, files.keyFile, *issued); !written)
        return tl::unexpected(written.error());
    files.pem = std::move(*issued);
    return files;
}

Result<IdentityFiles> CertificateFolder::signingKeys(const std::string &name) const
{
    IdentityFiles files{m_dir / (name + ".pub"), m_dir / (name + ".key"), {}};
    auto pair = readPair(files.certificateFile, files.keyFile);
    if (!pair) {
        pair = makeSigningKeys();
        if (!pair)
            return tl::unexpected(pair.error());
        if (auto written = writePair(files.certificateFile, files.keyFile, *pair); !written)
            return tl::unexpected(written.error());
    }
    files.pem = std::move(*pair);
    return files;
}

fs::path CertificateFolder::authorityFile() const
{
    return m_dir / authorityCertificate;
}

fs::path CertificateFolder::authorityKeyFile() const
{
    return m_dir / authorityKey;
}

const std::string &CertificateFolder::authorityPem() const
{
    return m_authority.pem().certificate;
}

} // namespace cluster::local
