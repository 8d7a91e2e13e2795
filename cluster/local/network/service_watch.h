#pragma once

#include "cluster/base/result.h"
#include <memory>

namespace cluster {
class KubeClient;
}

namespace cluster::local {

class ServiceTable;

/// Feeds a ServiceTable from the apiserver: one informer for Services, one for EndpointSlices.
class ServiceWatch
{
public:
    /// Both outlive it.
    ServiceWatch(KubeClient &client, ServiceTable &services);
    ~ServiceWatch(); ///< Ends the watches; afterwards the table stays as it is.
    ServiceWatch(const ServiceWatch &) = delete;
    ServiceWatch &operator=(const ServiceWatch &) = delete;

    [[nodiscard]] bool isSynced() const; ///< Both lists have been read once.

private:
    struct Private;
    std::unique_ptr<Private> m_p;
};

} // namespace cluster::local
