#include "cluster/local/controlplane/control_plane_folder.h"

#include "cluster/local/controlplane/certificate_folder.h"
#include "cluster/local/controlplane/control_plane_config.h"
#include "cluster/local/files/whole_files.h"

#include <array>
#include <charconv>
#include <cstring>
#include <openssl/rand.h>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cluster::local {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds portPatience{
    2000}; ///< a server of ours that was just killed lets go of it
constexpr std::chrono::milliseconds portPause{50};

/// The port bound for a moment; 0 if it is taken. `wanted` 0: any free one.
std::uint16_t tryPort(std::uint16_t wanted)
{
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1; // connections of the server before may linger; they are no reason to leave the port
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(wanted);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool isFree = socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0
        && ::bind(socket, reinterpret_cast<sockaddr *>(&address), size) == 0 && ::listen(socket, 1) == 0
        && ::getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size) == 0;
    if (socket >= 0)
        ::close(socket);
    return isFree ? ntohs(address.sin_port) : 0;
}

std::uint16_t keptPort(const fs::path &file)
{
    const auto text = readWholeFile(file);
    std::uint16_t port = 0;
    if (text)
        std::from_chars(text->data(), text->data() + text->size(), port);
    return port;
}

Result<std::uint16_t> choosePort(const fs::path &file)
{
    const std::uint16_t kept = keptPort(file);
    const auto end = std::chrono::steady_clock::now() + portPatience;
    while (kept != 0) {
        if (tryPort(kept) == kept)
            return kept;
        if (std::chrono::steady_clock::now() > end)
            break;
        std::this_thread::sleep_for(portPause);
    }
    const std::uint16_t port = tryPort(0);
    if (port == 0)
        return fail(ErrorCode::ResourceExhausted,
                    std::string("no free port on 127.0.0.1: ") + std::strerror(errno));
    if (auto written = writeWholeFile(file, std::to_string(port) + "\n"); !written)
        return tl::unexpected(written.error());
    return port;
}

/// 256 random bits that stay the same for this folder.
Result<std::string> keptToken(const fs::path &file)
{
    if (auto kept = readWholeFile(file); kept && !kept->empty())
        return kept->substr(0, kept->find('\n'));
    std::array<unsigned char, 32> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
        return fail(ErrorCode::Internal, "no random numbers to be had for a token");
    static constexpr char digits[] = "0123456789abcdef";
    std::string token;
    for (const unsigned char byte : bytes) {
        token += digits[byte >> 4];
        token += digits[byte & 15];
    }
    if (auto written = writeWholeFile(file, token + "\n"); !written)
        return tl::unexpected(written.error());
    return token;
}

struct ClientIdentity
{
    const char *name;
    const char *commonName;
    const char *group;
    const char *kubeconfig; ///< nullptr: none is written
};

/// The Kubernetes users that the programs are; the bootstrap roles know the first two by these names.
constexpr std::array<ClientIdentity, 5> clients{{
    {"controller-manager", "system:kube-controller-manager", nullptr, "controller-manager.kubeconfig"},
    {"scheduler", "system:kube-scheduler", nullptr, "scheduler.kubeconfig"},
    {"ray-operator", "slipway:kuberay-operator", "system:masters", "ray-operator.kubeconfig"},
    {"kubelet-client", "kube-apiserver-kubelet-client", "system:masters", nullptr},
    {"front-proxy", "front-proxy-client", nullptr, nullptr},
}};

CertificateSubject serverSubject(const std::string &serviceAddress, const std::string &advertiseAddress)
{
    CertificateSubject subject;
    subject.commonName = "kube-apiserver";
    subject.dnsNames = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                        "kubernetes.default.svc.cluster.local"};
    subject.addresses = {"127.0.0.1", serviceAddress, advertiseAddress};
    subject.server = true;
    return subject;
}

Status writeClients(const ControlPlaneOptions &options, const CertificateFolder &folder,
                    const std::string &url, CertificateTime now)
{
    for (const ClientIdentity &client : clients) {
        CertificateSubject subject;
        subject.commonName = client.commonName;
        if (client.group != nullptr)
            subject.organizations = {client.group};
        const auto files = folder.identity(client.name, subject, now);
        if (!files)
            return tl::unexpected(files.error());
        if (client.kubeconfig == nullptr)
            continue;
        const std::string text = kubeconfigText(url, folder.authorityFile().string(),
                                                files->certificateFile.string(), files->keyFile.string());
        if (auto written = writeWholeFile(options.dir / client.kubeconfig, text); !written)
            return written;
    }
    return {};
}

Status writeConfiguration(const ControlPlaneOptions &options, const std::string &adminToken)
{
    auto tokens = options.tokens;
    tokens.push_back({adminToken, "slipway-local-admin", {"system:masters"}});
    const auto text = tokenFileText(tokens);
    if (!text)
        return tl::unexpected(text.error());
    if (auto written = writeWholeFile(options.dir / "tokens.csv", *text); !written)
        return written;
    return writeWholeFile(options.dir / "egress.yaml", egressSelectorText(options.egressSocket));
}

Status makeFolders(const fs::path &dir)
{
    for (const fs::path &folder : {dir, dir / "etcd", dir / "logs"}) {
        if (auto made = makePrivateFolder(folder); !made)
            return made;
    }
    return {};
}

} // namespace

FolderLock::FolderLock(int handle) : m_handle(handle) {}

FolderLock::FolderLock(FolderLock &&other) noexcept : m_handle(std::exchange(other.m_handle, -1)) {}

FolderLock &FolderLock::operator=(FolderLock &&other) noexcept
{
    std::swap(m_handle, other.m_handle);
    return *this;
}

FolderLock::~FolderLock()
{
    if (m_handle >= 0)
        ::close(m_handle);
}

Result<FolderLock> FolderLock::take(const fs::path &dir)
{
    if (auto made = makePrivateFolder(dir); !made)
        return tl::unexpected(made.error());
    const fs::path file = dir / "lock";
    const int handle = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (handle < 0)
        return fail(ErrorCode::PermissionDenied,
                    "cannot open " + file.string() + ": " + std::strerror(errno));
    FolderLock lock(handle);
    if (::flock(handle, LOCK_EX | LOCK_NB) != 0)
        return fail(ErrorCode::FailedPrecondition,
                    "the control plane in " + dir.string()
                        + " is run by another process already; end that one first, or use another folder");
    return lock;
}

Result<ControlPlaneEndpoint> prepareFolder(const ControlPlaneOptions &options,
                                           std::chrono::system_clock::time_point now)
{
    if (auto made = makeFolders(options.dir); !made)
        return tl::unexpected(made.error());
    const auto serviceAddress = firstServiceAddress(options.serviceRange);
    if (!serviceAddress)
        return tl::unexpected(serviceAddress.error());
    const auto folder = CertificateFolder::open(options.dir / "pki", "slipway local " + options.name, now);
    if (!folder)
        return tl::unexpected(folder.error());
    const auto port = choosePort(options.dir / "port");
    if (!port)
        return tl::unexpected(port.error());
    const auto token = keptToken(options.dir / "admin.token");
    if (!token)
        return tl::unexpected(token.error());

    ControlPlaneEndpoint endpoint{*port,
                                  "https://127.0.0.1:" + std::to_string(*port),
                                  folder->authorityPem(),
                                  folder->authorityFile(),
                                  *token,
                                  folder->authorityFile()};
    const auto server
        = folder->identity("apiserver", serverSubject(*serviceAddress, options.advertiseAddress), now);
    if (!server)
        return tl::unexpected(server.error());
    if (const auto keys = folder->signingKeys("service-accounts"); !keys)
        return tl::unexpected(keys.error());
    if (auto written = writeClients(options, *folder, endpoint.url, now); !written)
        return tl::unexpected(written.error());
    if (auto written = writeConfiguration(options, *token); !written)
        return tl::unexpected(written.error());
    return endpoint;
}

} // namespace cluster::local
