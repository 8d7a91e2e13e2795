#include "cluster/local/gcp/serviceusage_catalog.h"

#include <algorithm>

namespace cluster::local {

std::span<const KnownApi> knownApis()
{
    // What the tutorials name, what those draw along, and what a new project has.
    static const std::vector<KnownApi> apis{
        {"aiplatform.googleapis.com", "Vertex AI API", false, {}},
        {"analyticshub.googleapis.com", "Analytics Hub API", true, {}},
        {"artifactregistry.googleapis.com", "Artifact Registry API", false, {}},
        {"autoscaling.googleapis.com", "Cloud Autoscaling API", false, {}},
        {"bigquery.googleapis.com", "BigQuery API", true, {}},
        {"bigquerystorage.googleapis.com", "BigQuery Storage API", true, {}},
        {"certificatemanager.googleapis.com", "Certificate Manager API", false, {}},
        {"cloudapis.googleapis.com", "Google Cloud APIs", true, {}},
        {"cloudbilling.googleapis.com", "Cloud Billing API", false, {}},
        {"cloudbuild.googleapis.com", "Cloud Build API", false, {}},
        {"cloudkms.googleapis.com", "Cloud Key Management Service (KMS) API", false, {}},
        {"cloudquotas.googleapis.com", "Cloud Quotas API", false, {}},
        {"cloudresourcemanager.googleapis.com", "Cloud Resource Manager API", false, {}},
        {"cloudtrace.googleapis.com", "Cloud Trace API", true, {}},
        {"compute.googleapis.com", "Compute Engine API", false, {"oslogin.googleapis.com"}},
        {"container.googleapis.com",
         "Kubernetes Engine API",
         false,
         {"artifactregistry.googleapis.com", "autoscaling.googleapis.com", "compute.googleapis.com",
          "containerfilesystem.googleapis.com", "dns.googleapis.com", "gkebackup.googleapis.com",
          "iam.googleapis.com", "iamcredentials.googleapis.com", "logging.googleapis.com",
          "monitoring.googleapis.com", "networkconnectivity.googleapis.com", "oslogin.googleapis.com",
          "pubsub.googleapis.com", "storage-api.googleapis.com"}},
        {"containerfilesystem.googleapis.com", "Container File System API", false, {}},
        {"dataform.googleapis.com", "Dataform API", true, {}},
        {"dataplex.googleapis.com", "Cloud Dataplex API", true, {}},
        {"datastore.googleapis.com", "Cloud Datastore API", true, {}},
        {"dns.googleapis.com", "Cloud DNS API", false, {}},
        {"file.googleapis.com", "Cloud Filestore API", false, {}},
        {"gkebackup.googleapis.com", "Backup for GKE API", false, {}},
        {"gkehub.googleapis.com", "GKE Hub API", false, {}},
        {"gkerecommender.googleapis.com", "GKE Recommender API", false, {}},
        {"iam.googleapis.com", "Identity and Access Management (IAM) API", false, {}},
        {"iamcredentials.googleapis.com", "IAM Service Account Credentials API", false, {}},
        {"logging.googleapis.com", "Cloud Logging API", true, {}},
        {"monitoring.googleapis.com", "Cloud Monitoring API", true, {}},
        {"networkconnectivity.googleapis.com", "Network Connectivity API", false, {}},
        {"networkservices.googleapis.com", "Network Services API", false, {}},
        {"oslogin.googleapis.com", "Cloud OS Login API", false, {}},
        {"parallelstore.googleapis.com", "Parallelstore API", false, {}},
        {"pubsub.googleapis.com", "Cloud Pub/Sub API", false, {}},
        {"secretmanager.googleapis.com", "Secret Manager API", false, {}},
        {"servicemanagement.googleapis.com", "Service Management API", true, {}},
        {"serviceusage.googleapis.com", "Service Usage API", true, {}},
        {"sql-component.googleapis.com", "Cloud SQL", true, {}},
        {"storage-api.googleapis.com", "Google Cloud Storage JSON API", true, {}},
        {"storage-component.googleapis.com", "Cloud Storage", true, {}},
        {"storage.googleapis.com", "Cloud Storage API", true, {}},
        {"sts.googleapis.com", "Security Token Service API", false, {}},
        {"tpu.googleapis.com", "Cloud TPU API", false, {}},
    };
    return apis;
}

const KnownApi *findApi(std::string_view name)
{
    const auto apis = knownApis();
    const auto found
        = std::find_if(apis.begin(), apis.end(), [&](const KnownApi &api) { return api.name == name; });
    return found == apis.end() ? nullptr : &*found;
}

} // namespace cluster::local
