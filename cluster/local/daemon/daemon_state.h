#pragma once

#include "cluster/base/result.h"
#include "cluster/local/daemon/local_paths.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cluster::local {

/// What the daemon tells those who look for it, in run/daemon.json.
struct DaemonState
{
    int pid = 0;
    std::uint16_t port = 0; ///< of https://127.0.0.1
    std::string version;

    [[nodiscard]] std::string url() const { return "https://127.0.0.1:" + std::to_string(port); }
};

/// Held by the daemon for as long as it lives; the kernel lets go of it however the daemon ends, so unlike a
/// process number it can't be stale.
class DaemonLock
{
public:
    /// Errors: AlreadyExists when another daemon holds it, those of open(2).
    [[nodiscard]] static Result<DaemonLock> take(const LocalPaths &paths);
    /// True while some daemon holds it.
    [[nodiscard]] static bool isHeld(const LocalPaths &paths);
    /// Process number of the daemon that holds it; 0: none does, or it can't be told.
    [[nodiscard]] static int holder(const LocalPaths &paths);

    DaemonLock(DaemonLock &&other) noexcept;
    DaemonLock &operator=(DaemonLock &&other) = delete;
    ~DaemonLock();

private:
    explicit DaemonLock(int file) : m_file(file) {}

    int m_file;
};

[[nodiscard]] Status writeDaemonState(const LocalPaths &paths, const DaemonState &state);

/// Of the daemon that runs, or ran last. Nothing if there never was one or the file can't be read.
[[nodiscard]] std::optional<DaemonState> readDaemonState(const LocalPaths &paths);

/// The token of this target, made when there is none: 32 random bytes in hexadecimal, after a prefix by which
/// scanners find it.
[[nodiscard]] Result<std::string> tokenOf(const LocalPaths &paths);

} // namespace cluster::local
