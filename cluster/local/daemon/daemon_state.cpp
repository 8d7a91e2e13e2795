#include "cluster/local/daemon/daemon_state.h"

#include "cluster/local/files/whole_files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <openssl/rand.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace cluster::local {

Result<DaemonLock> DaemonLock::take(const LocalPaths &paths)
{
    const int file = ::open(paths.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return fail(ErrorCode::PermissionDenied,
                    "can't open " + paths.lock().string() + ": " + std::strerror(errno));
    DaemonLock lock(file);
    if (::flock(file, LOCK_EX | LOCK_NB) != 0)
        return fail(ErrorCode::AlreadyExists,
                    "the local target in " + paths.root.string()
                        + " runs already: 'slipwayctl local status' shows it");
    // For whoever has to end it when daemon.json can't be read.
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file, 0) != 0 || ::pwrite(file, pid.data(), pid.size(), 0) < 0)
        return fail(ErrorCode::ResourceExhausted,
                    "can't write " + paths.lock().string() + ": " + std::strerror(errno));
    return lock;
}

bool DaemonLock::isHeld(const LocalPaths &paths)
{
    const int file = ::open(paths.lock().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
        return false;
    const bool isFree = ::flock(file, LOCK_SH | LOCK_NB) == 0;
    ::close(file);
    return !isFree;
}

int DaemonLock::holder(const LocalPaths &paths)
{
    const Result<std::string> text = readWholeFile(paths.lock());
    return text && isHeld(paths) ? std::atoi(text->c_str()) : 0;
}

DaemonLock::DaemonLock(DaemonLock &&other) noexcept : m_file(std::exchange(other.m_file, -1)) {}

DaemonLock::~DaemonLock()
{
    if (m_file >= 0)
        ::close(m_file);
}

Status writeDaemonState(const LocalPaths &paths, const DaemonState &state)
{
    const nlohmann::json json = {{"pid", state.pid}, {"port", state.port}, {"version", state.version}};
    return writeWholeFile(paths.daemonState(), json.dump(2) + "\n");
}

std::optional<DaemonState> readDaemonState(const LocalPaths &paths)
{
    const Result<std::string> text = readWholeFile(paths.daemonState());
    if (!text)
        return std::nullopt;
    try {
        const nlohmann::json json = nlohmann::json::parse(*text);
        return DaemonState{json.at("pid").get<int>(), json.at("port").get<std::uint16_t>(),
                           json.value("version", "")};
    } catch (const nlohmann::json::exception &) {
        return std::nullopt; // as good as none: the daemon writes it anew
    }
}

Result<std::string> tokenOf(const LocalPaths &paths)
{
    if (Result<std::string> kept = readWholeFile(paths.token())) {
        while (!kept->empty() && kept->back() == '\n')
            kept->pop_back();
        // What can't be a header's value can't be what was written here: it is replaced.
        constexpr std::size_t shortest = 16;
        const bool isToken = kept->size() >= shortest && std::ranges::all_of(*kept, [](unsigned char c) {
                                 return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                             });
        if (isToken)
            return kept;
    }
    unsigned char bytes[32];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return fail(ErrorCode::Internal, "the system gave no random bytes for a token");
    constexpr char digits[] = "0123456789abcdef";
    std::string token = "slipway-local-";
    for (const unsigned char byte : bytes) {
        token += digits[byte >> 4];
        token += digits[byte & 15];
    }
    if (Status written = writeWholeFile(paths.token(), token + "\n"); !written)
        return tl::unexpected(written.error());
    return token;
}

} // namespace cluster::local
