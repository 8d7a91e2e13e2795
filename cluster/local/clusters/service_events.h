#pragma once

#include "cluster/local/network/service_ports.h"

#include <memory>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

/// Says as a warning event on a Service which of its ports this machine does not forward, and why: `kubectl
/// describe service` and `kubectl events` show it.
class ServiceEvents
{
public:
    explicit ServiceEvents(KubeClient &client); ///< outlives it
    ~ServiceEvents();
    ServiceEvents(const ServiceEvents &) = delete;
    ServiceEvents &operator=(const ServiceEvents &) = delete;

    /// From any thread; returns at once. Of very many at a time the last ones are left out.
    void tell(const ServiceProblem &problem);

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace cluster::local
