#pragma once

#include "cluster/local/controlplane/certificates.h"

#include <filesystem>
#include <string>

namespace cluster::local {

/// Files of one identity, as programs want them.
struct IdentityFiles
{
    std::filesystem::path certificateFile;
    std::filesystem::path keyFile;
    PemPair pem;
};

/// A folder (mode 0700, files 0600) with an authority and the certificates it signed. What is there is used
/// again; what is missing, does not fit or ends within 30 days is made anew, so that users need not trust a
/// new authority at each start. The authority itself holds for ten years.
class CertificateFolder
{
public:
    /// Makes the folder and ca.crt, ca.key where they are missing. Errors: PermissionDenied, Internal, with
    /// the path.
    static Result<CertificateFolder> open(std::filesystem::path dir, const std::string &authorityName,
                                          CertificateTime now);

    /// NAME.crt and NAME.key for `subject`.
    [[nodiscard]] Result<IdentityFiles> identity(const std::string &name, const CertificateSubject &subject,
                                                 CertificateTime now) const;
    /// NAME.pub and NAME.key; never renewed (tokens signed with it must stay good).
    [[nodiscard]] Result<IdentityFiles> signingKeys(const std::string &name) const;

    [[nodiscard]] std::filesystem::path authorityFile() const;
    [[nodiscard]] std::filesystem::path authorityKeyFile() const;
    [[nodiscard]] const std::string &authorityPem() const;

private:
    CertificateFolder(std::filesystem::path dir, CertificateAuthority authority);
    std::filesystem::path m_dir;
    CertificateAuthority m_authority;
};

} // namespace cluster::local
