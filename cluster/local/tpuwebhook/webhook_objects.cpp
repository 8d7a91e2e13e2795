#include "cluster/local/tpuwebhook/webhook_objects.h"

#include "cluster/local/admission/base64_text.h"

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *nameSpace = "ray-system";
constexpr const char *service = "kuberay-tpu-webhook";
constexpr const char *mutatingName = "kuberay-tpu-mutating-webhook-cfg";
constexpr const char *validatingName = "kuberay-tpu-validating-webhook-cfg";

ResourcePath configuration(const char *plural, const char *name)
{
    return apiGroup("admissionregistration.k8s.io", "v1", plural, "", name);
}

Json metadata(const char *name)
{
    return {{"name", name}, {"namespace", nameSpace}};
}

Json serviceObject()
{
    return {{"kind", "Service"},
            {"apiVersion", "v1"},
            {"metadata", metadata(service)},
            {"spec",
             {{"type", "ClusterIP"},
              {"ports", Json::array({{{"name", "https"}, {"port", 443}, {"protocol", "TCP"}}})}}}};
}

Json endpoints(const std::string &address, std::uint16_t port)
{
    Json object{{"kind", "EndpointSlice"},
                {"apiVersion", "discovery.k8s.io/v1"},
                {"metadata", metadata("kuberay-tpu-webhook-local")},
                {"addressType", "IPv4"},
                {"endpoints", Json::array({{{"addresses", {address}}, {"conditions", {{"ready", true}}}}})},
                {"ports", Json::array({{{"name", "https"}, {"port", port}, {"protocol", "TCP"}}})}};
    object["metadata"]["labels"] = {{"kubernetes.io/service-name", service},
                                    {"endpointslice.kubernetes.io/managed-by", "slipway-local-target"}};
    return object;
}

/// One webhook: asked for each creation of `plural`, outside of the system's own namespaces.
Json webhook(const std::string &name, const char *path, const char *group, const char *version,
             const char *plural, const std::string &caPem)
{
    const Json notSystem{{"key", "kubernetes.io/metadata.name"},
                         {"operator", "NotIn"},
                         {"values", {"kube-system", "kube-node-lease"}}};
    return {{"name", name},
            {"admissionReviewVersions", {"v1"}},
            {"sideEffects", "None"},
            {"failurePolicy", "Fail"},
            {"namespaceSelector", {{"matchExpressions", Json::array({notSystem})}}},
            {"rules",
             Json::array({{{"operations", {"CREATE"}},
                           {"apiGroups", {group}},
                           {"apiVersions", {version}},
                           {"resources", {plural}}}})},
            {"clientConfig",
             {{"caBundle", base64Text(caPem)},
              {"service", {{"namespace", nameSpace}, {"name", service}, {"port", 443}, {"path", path}}}}}};
}

Json configurationObject(const char *kind, const char *name, Json hook)
{
    return {{"kind", kind},
            {"apiVersion", "admissionregistration.k8s.io/v1"},
            {"metadata", {{"name", name}}},
            {"webhooks", Json::array({std::move(hook)})}};
}

} // namespace

std::vector<PlacedObject> webhookObjects(const std::string &address, std::uint16_t port,
                                         const std::string &caPem)
{
    Json mutating = webhook("kuberay-tpu-webhook.ray-system.svc", "/mutate", "", "v1", "pods", caPem);
    mutating["objectSelector"]["matchLabels"] = {{"app.kubernetes.io/name", "kuberay"}};
    Json validating = webhook("raycluster-kuberay-tpu-webhook.ray-system.svc", "/validate", "ray.io", "*",
                              "rayclusters", caPem);
    const Json space{{"kind", "Namespace"}, {"apiVersion", "v1"}, {"metadata", {{"name", nameSpace}}}};
    return {{coreV1("namespaces", "", nameSpace), space},
            {coreV1("services", nameSpace, service), serviceObject()},
            {apiGroup("discovery.k8s.io", "v1", "endpointslices", nameSpace, "kuberay-tpu-webhook-local"),
             endpoints(address, port)},
            {configuration("mutatingwebhookconfigurations", mutatingName),
             configurationObject("MutatingWebhookConfiguration", mutatingName, std::move(mutating))},
            {configuration("validatingwebhookconfigurations", validatingName),
             configurationObject("ValidatingWebhookConfiguration", validatingName, std::move(validating))}};
}

std::vector<ResourcePath> webhookConfigurations()
{
    return {configuration("mutatingwebhookconfigurations", mutatingName),
            configuration("validatingwebhookconfigurations", validatingName)};
}

} // namespace cluster::local
