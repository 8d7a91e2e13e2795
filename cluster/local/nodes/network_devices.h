#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/result.h"
#include "cluster/local/nodes/pool_spec.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

/// True for pools whose label starts GKE's driver for network devices (DRANET):
/// cloud.google.com/gke-networking-dra-driver=true.
bool hasNetworkDriver(const PoolSpec &pool);

/// The node's ResourceSlice as that driver publishes it: the network cards beside the first one that its
/// machine type has, none where it has none.
nlohmann::json networkSlice(const PoolSpec &pool, const std::string &node, const std::string &nodeUid);

/// The classes that claims name: netdev.google.com and mrdma.google.com.
std::vector<nlohmann::json> networkDeviceClasses();

/// The driver's part of the cluster: classes, and slices as nodes come and go. Preparing a claim on its node
/// is the node agent's. Blocks; threads may share it. Servers without resource.k8s.io/v1 are left alone.
class NetworkDevices
{
public:
    explicit NetworkDevices(KubeClient &client) : m_client(client) {}

    Status installClasses(const CancelToken &cancel);
    /// Nothing for pools without the driver.
    Status publish(const PoolSpec &pool, const std::string &node, const std::string &nodeUid,
                   const CancelToken &cancel);
    void withdraw(const std::string &node, const CancelToken &cancel);

private:
    KubeClient &m_client;
};

} // namespace cluster::local
