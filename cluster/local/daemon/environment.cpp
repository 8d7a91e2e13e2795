#include "cluster/local/daemon/environment.h"

namespace cluster::local {

std::vector<std::pair<std::string, std::string>>
environmentFor(const LocalPaths &paths, const DaemonState &state, const std::string &token)
{
    const auto service = [url = state.url()](const char *prefix, const char *version = "") {
        return url + "/" + prefix + "/" + version; // gcloud wants the slash at the end
    };
    const std::string overrides = "CLOUDSDK_API_ENDPOINT_OVERRIDES_";
    return {
        {"SLIPWAY_LOCAL_DIR", paths.root.string()},
        {"SLIPWAY_LOCAL_URL", state.url()},
        {"KUBECONFIG", paths.kubeconfig().string()},
        {"USE_GKE_GCLOUD_AUTH_PLUGIN", "True"},
        // A configuration of its own: the user's accounts and projects are not touched.
        {"CLOUDSDK_CONFIG", paths.gcloudConfig().string()},
        {"CLOUDSDK_CORE_PROJECT", "slipway-local"},
        {"CLOUDSDK_AUTH_ACCESS_TOKEN", token},
        {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", paths.caBundle().string()},
        {"CURL_CA_BUNDLE", paths.caBundle().string()},
        // Where this is set, gcloud's HTTP library believes it instead of gcloud.
        {"REQUESTS_CA_BUNDLE", paths.caBundle().string()},
        {"CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK", "1"},
        {"CLOUDSDK_CORE_DISABLE_USAGE_REPORTING", "1"},
        {"CLOUDSDK_SURVEY_DISABLE_PROMPTS", "1"},
        {overrides + "CONTAINER", service("container")},
        {overrides + "SERVICEUSAGE", service("serviceusage")},
        {overrides + "CLOUDRESOURCEMANAGER", service("crm")},
        {overrides + "IAM", service("iam")},
        {overrides + "ARTIFACTREGISTRY", service("artifactregistry")},
        {overrides + "STORAGE", service("storage", "storage/v1/")},
        {overrides + "COMPUTE", service("compute", "compute/v1/")},
        {overrides + "CLOUDQUOTAS", service("cloudquotas")},
        {overrides + "MONITORING", service("monitoring")},
    };
}

} // namespace cluster::local
