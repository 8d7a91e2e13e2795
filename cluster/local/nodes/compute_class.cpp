#include "cluster/local/nodes/compute_class.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodes/compute_class_schema.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *definitionName = "computeclasses.cloud.google.com";

Json typed(const char *type)
{
    return Json{{"type", type}};
}

} // namespace

Json computeClassDefinition()
{
    const Json schema = {{"type", "object"},
                         {"required", {"spec"}},
                         {"properties",
                          {{"apiVersion", typed("string")},
                           {"kind", typed("string")},
                           {"metadata", typed("object")},
                           {"spec", computeClassSpecSchema()},
                           {"status", computeClassStatusSchema()}}}};
    const Json version{{"name", "v1"},
                       {"served", true},
                       {"storage", true},
                       {"subresources", {{"status", Json::object()}}},
                       {"schema", {{"openAPIV3Schema", schema}}}};
    return Json{{"apiVersion", "apiextensions.k8s.io/v1"},
                {"kind", "CustomResourceDefinition"},
                {"metadata",
                 {{"name", definitionName},
                  {"annotations", {{"components.gke.io/layer", "addon"}}},
                  {"labels", {{"addonmanager.kubernetes.io/mode", "Reconcile"}}}}},
                {"spec",
                 {{"group", "cloud.google.com"},
                  {"scope", "Cluster"},
                  {"names",
                   {{"plural", "computeclasses"},
                    {"singular", "computeclass"},
                    {"kind", "ComputeClass"},
                    {"listKind", "ComputeClassList"},
                    {"shortNames", {"cc", "ccs"}}}},
                  {"versions", Json::array({version})}}}};
}

Status installComputeClasses(KubeClient &client, const CancelToken &cancel)
{
    KubeApplyOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(30));
    options.fieldManager = "gke-node-autoscaling";
    options.force = true;
    const Result<Json> applied = client.apply(
        apiGroup("apiextensions.k8s.io", "v1", "customresourcedefinitions").named(definitionName),
        computeClassDefinition(), options);
    if (!applied)
        return tl::unexpected(applied.error());
    return {};
}

} // namespace cluster::local
