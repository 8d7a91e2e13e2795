#pragma once

#include "cluster/local/network/service_table.h"
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

/// kube-proxy's role without root: for each TCP port of each ClusterIP 10.a.b.c a listener on 127.a.b.c that
/// joins what connects with a ready endpoint. Follows the table. Runs on the io_context's thread, where it is
/// also made and destroyed.
class ServicePorts
{
public:
    using ProblemHandler = std::function<void(const ServiceProblem &)>;

    /// `services` outlives it; its onChanged is taken. `onProblem` is told each new one of problems(), from
    /// inside, the first ones from the constructor.
    ServicePorts(boost::asio::io_context &io, ServiceTable &services, ProblemHandler onProblem = {});
    ~ServicePorts();
    ServicePorts(const ServicePorts &) = delete;
    ServicePorts &operator=(const ServicePorts &) = delete;

    /// Ports that are not TCP, and those that could not be listened on: most often a port below 1024, which a
    /// user other than root may not open.
    [[nodiscard]] std::vector<ServiceProblem> problems() const;
    [[nodiscard]] std::size_t listening() const;

private:
    struct Private;
    std::shared_ptr<Private> m_p;
};

} // namespace cluster::local
