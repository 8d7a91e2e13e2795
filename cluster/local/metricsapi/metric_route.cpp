#include "cluster/local/metricsapi/metric_route.h"

#include <span>

namespace cluster::local {

namespace {

using Parts = std::span<const std::string>;

std::optional<MetricRoute> customRoute(const ServerRequest &request, MetricRoute route, Parts rest)
{
    CustomMetricQuestion question;
    question.version = route.version;
    if (rest.size() == 4 && rest[0] == "namespaces" && rest[2] == "metrics") {
        // Of the namespace itself.
        question.resource = "namespaces";
        question.name = rest[1];
        question.metric = rest[3];
        route.nameSpace = rest[1];
        route.resource = "metrics";
        route.name = rest[3];
    } else if (rest.size() == 5 && rest[0] == "namespaces") {
        route.nameSpace = question.nameSpace = rest[1];
        rest = rest.subspan(2);
    } else if (rest.size() != 3) {
        return std::nullopt;
    }
    if (question.metric.empty()) {
        route.resource = question.resource = rest[0];
        route.name = question.name = rest[1];
        route.subresource = question.metric = rest[2];
    }
    question.selector = request.queryValue("labelSelector").value_or("");
    question.metricSelector = request.queryValue("metricLabelSelector").value_or("");
    route.verb = "get";
    route.custom = std::move(question);
    return route;
}

std::optional<MetricRoute> externalRoute(const ServerRequest &request, MetricRoute route, Parts rest)
{
    if (rest.size() != 3 || rest[0] != "namespaces")
        return std::nullopt;
    route.nameSpace = rest[1];
    route.resource = rest[2];
    route.verb = "list";
    route.external = ExternalMetricQuestion{rest[2], request.queryValue("labelSelector").value_or("")};
    return route;
}

} // namespace

std::optional<MetricRoute> metricRoute(const ServerRequest &request)
{
    const Parts path(request.segments);
    if (path.size() < 6 || path[0] != "apis")
        return std::nullopt;
    for (const std::string &part : path) {
        if (part.empty())
            return std::nullopt;
    }
    MetricRoute route;
    route.group = path[1];
    route.version = path[2];
    const bool isBeta1 = route.version == "v1beta1";
    if (route.group == "custom.metrics.k8s.io" && (isBeta1 || route.version == "v1beta2"))
        return customRoute(request, std::move(route), path.subspan(3));
    if (route.group == "external.metrics.k8s.io" && isBeta1)
        return externalRoute(request, std::move(route), path.subspan(3));
    return std::nullopt;
}

} // namespace cluster::local
