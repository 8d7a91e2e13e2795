#pragma once

#include "cluster/base/result.h"

namespace cluster::local {

/// The right to a cluster's addresses (AddressPlan::index) among all processes of this machine, whoever's
/// they are: two clusters with the same loopback addresses would get in each other's way, with "address in
/// use" in some container as the only sign. Given back by the destructor, or by the kernel when the process
/// ends in any way.
class AddressClaim
{
public:
    /// AlreadyExists: another process runs a cluster there. InvalidArgument: no such index.
    [[nodiscard]] static Result<AddressClaim> take(int index);

    ~AddressClaim();
    AddressClaim(AddressClaim &&other) noexcept;
    AddressClaim &operator=(AddressClaim &&other) noexcept;

    [[nodiscard]] int index() const { return m_index; }

private:
    AddressClaim(int index, int socket) : m_index(index), m_socket(socket) {}

    int m_index = -1;
    int m_socket = -1;
};

} // namespace cluster::local
