#include "cluster/local/gcp/google_services.h"

#include "cluster/local/gcp/artifactregistry_service.h"
#include "cluster/local/gcp/cloudquotas_service.h"
#include "cluster/local/gcp/compute_service.h"
#include "cluster/local/gcp/iam_service.h"
#include "cluster/local/gcp/monitoring_service.h"
#include "cluster/local/gcp/resourcemanager_service.h"
#include "cluster/local/gcp/serviceusage_service.h"
#include "cluster/local/gcp/storage_service.h"

namespace cluster::local {

std::vector<MountedService> makeGoogleServices(GcpContext &context)
{
    std::vector<MountedService> services;
    // First, because it makes the project that the others look for.
    services.push_back({"crm", std::make_unique<ResourceManagerService>(context)});
    services.push_back({"serviceusage", std::make_unique<ServiceUsageService>(context)});
    services.push_back({"iam", std::make_unique<IamService>(context)});
    services.push_back({"storage", std::make_unique<StorageService>(context)});
    services.push_back({"artifactregistry", std::make_unique<ArtifactRegistryService>(context)});
    services.push_back({"compute", std::make_unique<ComputeService>(context, context.quotas)});
    services.push_back({"cloudquotas", std::make_unique<CloudQuotasService>(context, context.quotas)});
    services.push_back({"monitoring", std::make_unique<MonitoringService>(context)});
    return services;
}

} // namespace cluster::local
