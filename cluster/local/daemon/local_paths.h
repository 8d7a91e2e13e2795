#pragma once

#include "cluster/base/result.h"

#include <filesystem>
#include <string>

namespace cluster::local {

/// Where the local target keeps what it has, all below one folder of mode 0700.
struct LocalPaths
{
    std::filesystem::path root;

    [[nodiscard]] std::filesystem::path run() const { return root / "run"; }
    [[nodiscard]] std::filesystem::path lock() const { return run() / "lock"; }
    [[nodiscard]] std::filesystem::path daemonState() const { return run() / "daemon.json"; }
    [[nodiscard]] std::filesystem::path daemonLog() const { return root / "slipwayd.log"; }
    [[nodiscard]] std::filesystem::path token() const { return root / "token"; }
    [[nodiscard]] std::filesystem::path tls() const { return root / "tls"; }
    [[nodiscard]] std::filesystem::path caFile() const { return tls() / "ca.crt"; }
    /// The system's certificates and ours: for programs that also talk to others.
    [[nodiscard]] std::filesystem::path caBundle() const { return tls() / "bundle.pem"; }
    [[nodiscard]] std::filesystem::path documents() const { return root / "gcp.sqlite"; }
    [[nodiscard]] std::filesystem::path buckets() const { return root / "buckets"; }
    [[nodiscard]] std::filesystem::path clusters() const { return root / "clusters"; }
    [[nodiscard]] std::filesystem::path kubeconfig() const { return root / "kubeconfig"; }
    [[nodiscard]] std::filesystem::path gcloudConfig() const { return root / "gcloud"; }
};

/// `given`, else $SLIPWAY_LOCAL_DIR, else slipway/local in the user's data folder ($XDG_DATA_HOME,
/// ~/.local/share). Errors: FailedPrecondition without any, or where the path is too long for the sockets in
/// it.
[[nodiscard]] Result<LocalPaths> localPaths(const std::string &given = {});

/// Makes the folders, mode 0700. Errors: PermissionDenied, ResourceExhausted (full), FailedPrecondition (the
/// root belongs to somebody else or others may write to it).
[[nodiscard]] Status makeFolders(const LocalPaths &paths);

} // namespace cluster::local
