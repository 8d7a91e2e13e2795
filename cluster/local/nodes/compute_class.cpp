#include "cluster/local/nodes/compute_class.h"

#include "cluster/kube/kube_client.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *definitionName = "computeclasses.cloud.google.com";

Json typed(const char *type)
{
    return Json{{"type", type}};
}

Json listOf(Json items)
{
    return Json{{"type", "array"}, {"items", std::move(items)}};
}

/// An object with these fields, and any others.
Json object(Json properties)
{
    return Json{{"type", "object"},
                {"properties", std::move(properties)},
                {"x-kubernetes-preserve-unknown-fields", true}};
}

Json ruleSchema()
{
    Json count{{"type", "integer"}, {"format", "int64"}, {"minimum", 1}};
    return object(
        {{"machineType", typed("string")},
         {"machineFamily", typed("string")},
         {"spot", typed("boolean")},
         {"minCores", typed("integer")},
         {"minMemoryGb", typed("integer")},
         {"gpu", object({{"type", typed("string")}, {"count", count}, {"driverVersion", typed("string")}})},
         {"tpu", object({{"type", typed("string")}, {"count", count}, {"topology", typed("string")}})},
         {"flexStart", object({{"enabled", typed("boolean")}})},
         {"location", object({{"zones", listOf(typed("string"))}})},
         {"nodepools", listOf(typed("string"))},
         {"acceleratorNetworkProfile", typed("string")}});
}

Json specSchema()
{
    const Json enabled = object({{"enabled", typed("boolean")}});
    return object(
        {{"priorities", listOf(ruleSchema())},
         {"nodePoolAutoCreation", enabled},
         {"autopilot", enabled},
         {"whenUnsatisfiable",
          {{"type", "string"}, {"enum", {"DoNotScaleUp", "ScaleUpAnyway"}}, {"default", "DoNotScaleUp"}}},
         {"nodePoolConfig", object({{"dra", object({{"networking", enabled}})}})}});
}

} // namespace

Json computeClassDefinition()
{
    const Json any{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
    const Json schema = {{"type", "object"},
                         {"required", {"spec"}},
                         {"properties",
                          {{"apiVersion", typed("string")},
                           {"kind", typed("string")},
                           {"metadata", typed("object")},
                           {"spec", specSchema()},
                           {"status", any}}}};
    const Json version{{"name", "v1"},
                       {"served", true},
                       {"storage", true},
                       {"subresources", {{"status", Json::object()}}},
                       {"schema", {{"openAPIV3Schema", schema}}}};
    return Json{{"apiVersion", "apiextensions.k8s.io/v1"},
                {"kind", "CustomResourceDefinition"},
                {"metadata", {{"name", definitionName}}},
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
