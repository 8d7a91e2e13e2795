#pragma once

#include "cluster/base/result.h"
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

class ServiceTable;

/// kube-proxy's role without root: for each TCP port of each ClusterIP 10.a.b.c a listener on 127.a.b.c that
/// joins what connects with a ready endpoint. Follows the table. Runs on the io_context's thread, where it is
/// also made and destroyed.
class ServicePorts
{
public:
    /// `services` outlives it; its onChanged is taken.
    ServicePorts(boost::asio::io_context &io, ServiceTable &services);
    ~ServicePorts();
    ServicePorts(const ServicePorts &) = delete;
    ServicePorts &operator=(const ServicePorts &) = delete;

    /// Ports that could not be listened on, as one line each for a person: most often a port below 1024,
    /// which a user other than root may not open.
    [[nodiscard]] std::vector<std::string> problems() const;
    [[nodiscard]] std::size_t listening() const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
