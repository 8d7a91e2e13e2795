#include "cluster/local/network/address_claim.h"

#include "cluster/local/network/address_plan.h"
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace cluster::local {

Result<AddressClaim> AddressClaim::take(int index)
{
    if (const auto plan = AddressPlan::forCluster(index); !plan)
        return tl::unexpected(plan.error());
    // A name in the abstract namespace: as wide as the loopback addresses themselves, and no file that stays
    // behind.
    const std::string name = "slipway-local-cluster-" + std::to_string(index);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
        return fail(ErrorCode::ResourceExhausted,
                    std::string("can't claim a cluster's addresses: ") + std::strerror(errno));
    if (::bind(socket, reinterpret_cast<const sockaddr *>(&address), size) == 0)
        return AddressClaim(index, socket);
    const int error = errno;
    ::close(socket);
    if (error == EADDRINUSE)
        return fail(ErrorCode::AlreadyExists,
                    "another local target on this machine runs a cluster with the addresses of number "
                        + std::to_string(index) + "; stop it first");
    return fail(ErrorCode::Internal,
                std::string("can't claim a cluster's addresses: ") + std::strerror(error));
}

AddressClaim::~AddressClaim()
{
    if (m_socket >= 0)
        ::close(m_socket);
}

AddressClaim::AddressClaim(AddressClaim &&other) noexcept
    : m_index(other.m_index), m_socket(std::exchange(other.m_socket, -1))
{
}

AddressClaim &AddressClaim::operator=(AddressClaim &&other) noexcept
{
    std::swap(m_index, other.m_index);
    std::swap(m_socket, other.m_socket);
    return *this;
}

} // namespace cluster::local
