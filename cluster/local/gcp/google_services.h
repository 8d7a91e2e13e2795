#pragma once

#include "cluster/local/gcp/gcp_service.h"

#include <memory>
#include <string>
#include <vector>

namespace cluster::local {

struct MountedService
{
    std::string prefix; ///< "storage" for /storage/…
    std::unique_ptr<GcpService> service;
};

/// All of Google's APIs but container, which needs a ClusterHost.
std::vector<MountedService> makeGoogleServices(GcpContext &context);

} // namespace cluster::local
