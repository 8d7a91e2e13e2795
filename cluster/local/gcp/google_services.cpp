#include "cluster/local/gcp/google_services.h"

namespace cluster::local {

std::vector<MountedService> makeGoogleServices(GcpContext &context)
{
    std::vector<MountedService> services;
    static_cast<void>(context);
    return services;
}

} // namespace cluster::local
