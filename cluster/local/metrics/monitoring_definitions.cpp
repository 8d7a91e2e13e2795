#include "cluster/local/metrics/monitoring_definitions.h"

#include "cluster/kube/kube_client.h"

namespace cluster::local {

using nlohmann::json;

namespace {

const json kText = {{"type", "string"}};
const json kNumber = {{"type", "integer"}, {"format", "int64"}};
const json kLabelName = {{"type", "string"}, {"pattern", "^[a-zA-Z_][a-zA-Z0-9_]*$"}};
const json kDuration = {{"type", "string"}, {"format", "duration"}};

json object(json properties, json required = json::array())
{
    json schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty())
        schema["required"] = std::move(required);
    return schema;
}

json listOf(json items, int most = 0)
{
    json schema{{"type", "array"}, {"items", std::move(items)}};
    if (most > 0)
        schema["maxItems"] = most;
    return schema;
}

json mapOf(json values)
{
    return {{"type", "object"}, {"additionalProperties", std::move(values)}};
}

json anyObject(const char *description)
{
    return {{"type", "object"}, {"description", description}, {"x-kubernetes-preserve-unknown-fields", true}};
}

/// A label that rules may write.
json targetLabel()
{
    json schema = kLabelName;
    schema["x-kubernetes-validations"] = json::array(
        {{{"rule",
           "!(self in ['project_id', 'location', 'cluster', 'namespace', 'job', 'instance', "
           "'top_level_controller', 'top_level_controller_type', '__address__'])"},
          {"messageExpression", "'cannot relabel onto protected label \"%s\"'.format([self])"}}});
    return schema;
}

json relabelingRule()
{
    return object({{"action",
                    {{"type", "string"},
                     {"enum",
                      {"replace", "lowercase", "uppercase", "keep", "drop", "keepequal", "dropequal",
                       "hashmod", "labeldrop", "labelkeep"}}}},
                   {"modulus", kNumber},
                   {"regex", {{"type", "string"}, {"maxLength", 10000}}},
                   {"replacement", kText},
                   {"separator", kText},
                   {"sourceLabels", listOf(kLabelName, 100)},
                   {"targetLabel", targetLabel()}});
}

json endpoint()
{
    const json port{{"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
                    {"description", "Name or number of the port to scrape."},
                    {"maxLength", 253},
                    {"minLength", 1},
                    {"x-kubernetes-int-or-string", true},
                    {"x-kubernetes-validations",
                     json::array({{{"rule", "self != 0"}, {"message", "Port is required"}}})}};
    json schema = object({{"authorization", anyObject("The authorization header to scrape with.")},
                          {"basicAuth", anyObject("User name and password to scrape with.")},
                          {"interval", kDuration},
                          {"metricRelabeling", listOf(relabelingRule(), 250)},
                          {"oauth2", anyObject("OAuth2 client credentials to scrape with.")},
                          {"params", mapOf(listOf(kText))},
                          {"path", kText},
                          {"port", port},
                          {"proxyUrl", {{"type", "string"}, {"maxLength", 2000}}},
                          {"scheme", {{"type", "string"}, {"enum", {"http", "https"}}}},
                          {"timeout", kDuration},
                          {"tls", anyObject("TLS of the scrape: insecureSkipVerify, serverName, …")}},
                         {"interval", "port"});
    schema["x-kubernetes-validations"] = json::array(
        {{{"rule", "!has(self.timeout) || self.timeout <= self.interval"},
          {"messageExpression",
           "'scrape timeout (%s) must not be greater than scrape interval (%s)'.format([self.timeout, "
           "self.interval])"}}});
    return schema;
}

json selector()
{
    json schema = object({{"matchLabels", mapOf(kText)},
                          {"matchExpressions",
                           listOf(object({{"key", kText}, {"operator", kText}, {"values", listOf(kText)}},
                                         {"key", "operator"}))}});
    schema["x-kubernetes-map-type"] = "atomic";
    return schema;
}

json specSchema(const json &metadataWords, const json &metadataDefault)
{
    json endpoints = listOf(endpoint(), 10);
    endpoints["minItems"] = 1;
    json metadata = listOf({{"type", "string"}, {"enum", metadataWords}});
    metadata["x-kubernetes-list-type"] = "set";
    metadata["default"] = metadataDefault;
    json labels
        = object({{"fromPod", listOf(object({{"from", kText}, {"to", targetLabel()}}, {"from"}), 100)},
                  {"metadata", std::move(metadata)}});
    labels["default"] = json::object();
    return object({{"endpoints", std::move(endpoints)},
                   {"filterRunning", {{"type", "boolean"}}},
                   {"limits",
                    object({{"labelNameLength", kNumber},
                            {"labelValueLength", kNumber},
                            {"labels", kNumber},
                            {"samples", kNumber}})},
                   {"selector", selector()},
                   {"targetLabels", std::move(labels)}},
                  {"endpoints", "selector"});
}

json statusSchema()
{
    const json time{{"type", "string"}, {"format", "date-time"}};
    return object({{"conditions",
                    listOf(object({{"lastTransitionTime", time},
                                   {"lastUpdateTime", time},
                                   {"message", kText},
                                   {"reason", kText},
                                   {"status", kText},
                                   {"type", kText}},
                                  {"status", "type"}))},
                   {"endpointStatuses", listOf(anyObject("Not filled by the local target."))},
                   {"observedGeneration", kNumber}});
}

json definition(const std::string &kind, const std::string &plural, const char *scope, json spec)
{
    std::string singular = plural;
    singular.pop_back();
    json schema = object({{"apiVersion", kText},
                          {"kind", kText},
                          {"metadata", {{"type", "object"}}},
                          {"spec", std::move(spec)},
                          {"status", statusSchema()}},
                         {"spec"});
    schema["description"] = kind + " chooses pods whose metrics Managed Prometheus collects.";
    json version{{"name", "v1"},
                 {"served", true},
                 {"storage", true},
                 {"schema", {{"openAPIV3Schema", std::move(schema)}}},
                 {"subresources", {{"status", json::object()}}}};
    return {{"apiVersion", "apiextensions.k8s.io/v1"},
            {"kind", "CustomResourceDefinition"},
            {"metadata",
             {{"name", plural + ".monitoring.googleapis.com"},
              {"labels", {{"addonmanager.kubernetes.io/mode", "Reconcile"}}}}},
            {"spec",
             {{"group", "monitoring.googleapis.com"},
              {"names",
               {{"kind", kind}, {"listKind", kind + "List"}, {"plural", plural}, {"singular", singular}}},
              {"scope", scope},
              {"versions", json::array({std::move(version)})}}}};
}

} // namespace

std::vector<json> monitoringDefinitions()
{
    const json words{"container", "node", "pod", "top_level_controller_name", "top_level_controller_type"};
    const json standard{"container", "pod", "top_level_controller_name", "top_level_controller_type"};
    json clusterWords = words;
    clusterWords.push_back("namespace");
    const json clusterStandard{"container", "namespace", "pod", "top_level_controller_name",
                               "top_level_controller_type"};
    return {definition("PodMonitoring", "podmonitorings", "Namespaced", specSchema(words, standard)),
            definition("ClusterPodMonitoring", "clusterpodmonitorings", "Cluster",
                       specSchema(clusterWords, clusterStandard))};
}

Status installMonitoringDefinitions(KubeClient &client)
{
    KubeApplyOptions options;
    options.fieldManager = "gmp-operator";
    options.force = true;
    for (const json &one : monitoringDefinitions()) {
        const ResourcePath path = apiGroup("apiextensions.k8s.io", "v1", "customresourcedefinitions")
                                      .named(one.at("metadata").at("name").get<std::string>());
        if (const auto applied = client.apply(path, one, options); !applied)
            return tl::unexpected(applied.error());
    }
    return {};
}

} // namespace cluster::local
