#include "cluster/local/metricsapi/metrics_provider.h"

#include "cluster/local/metricsapi/metric_query.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <string_view>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t mostAtOnce = 100; ///< names in one filter of Cloud Monitoring

tl::unexpected<ApiFailure> notFound(std::string message)
{
    return apiFail(404, "NotFound", std::move(message));
}

/// `operation` in Go's %q.
tl::unexpected<ApiFailure> notImplemented(const std::string &operation, const std::string &resource)
{
    return apiFail(501, "BadRequest",
                   "Operation: \"" + operation + " for resource \\\"" + resource
                       + "\\\"\" is not implemented");
}

tl::unexpected<ApiFailure> noDescriptor(const std::string &type)
{
    return notFound("the server could not find the descriptor for metric \"" + type + "\"");
}

std::string timeText(std::chrono::system_clock::time_point time)
{
    const std::time_t clock = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    gmtime_r(&clock, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Labels of the resource prometheus_target; all others are the metric's.
bool isResourceLabel(std::string_view name)
{
    static constexpr std::array<std::string_view, 6> labels{"project_id", "location", "cluster",
                                                            "namespace",  "job",      "instance"};
    return std::find(labels.begin(), labels.end(), name) != labels.end();
}

json metricLabels(const json &labels)
{
    json shown{{"resource.type", "prometheus_target"}};
    for (const auto &[name, value] : labels.items()) {
        if (name != "__name__")
            shown[(isResourceLabel(name) ? "resource.labels." : "metric.labels.") + name] = value;
    }
    return shown;
}

json listOf(const std::string &kind, const std::string &apiVersion, json items)
{
    return {{"kind", kind},
            {"apiVersion", apiVersion},
            {"metadata", json::object()},
            {"items", std::move(items)}};
}

/// `selector` of a question, as labels.Parse has it.
ApiResult<LabelSelector> parsed(const std::string &selector, int code, const char *reason)
{
    auto result = LabelSelector::parse(selector);
    if (!result)
        return apiFail(code, reason, "unable to parse requirement: " + result.error().message);
    return std::move(*result);
}

} // namespace

ApiResult<std::vector<std::string>> MetricsProvider::objects(const CustomMetricQuestion &question) const
{
    const bool isRoot = question.nameSpace.empty(), isAll = question.name == "*";
    const std::string resource = question.resource.substr(0, question.resource.find('.'));
    if (resource != (isRoot ? "nodes" : "pods"))
        return notImplemented(std::string("Get ") + (isRoot ? "root scoped" : "namespaced") + " metric by "
                                  + (isAll ? "selector" : "name"),
                              resource);
    if (isAll)
        return m_sources.names(resource, question.nameSpace, question.selector);
    if (const auto found = m_sources.find(resource, question.nameSpace, question.name); !found)
        return tl::unexpected(found.error());
    return std::vector<std::string>{question.name};
}

/// By what its scrapes declare now; of one that isn't scraped any more, by the samples that it left.
Result<bool> MetricsProvider::isKnown(const std::string &project, const PrometheusMetric &metric) const
{
    auto types = m_sources.types(project, familyOf(metric));
    const bool isTotal = metric.suffix == "counter" && metric.name.ends_with("_total");
    if (types && types->empty() && isTotal) // OpenMetrics declares a counter without that end
        types = m_sources.types(project, metric.name.substr(0, metric.name.size() - 6));
    if (!types)
        return tl::unexpected(types.error());
    if (!types->empty())
        return std::any_of(types->begin(), types->end(),
                           [&](const std::string &type) { return fitsPrometheusType(metric, type); });
    const auto samples
        = m_sources.query(project, existenceQuery(metric, {equalMatcher("project_id", {project})}));
    if (!samples)
        return tl::unexpected(samples.error());
    return !samples->empty();
}

/// As the adapter: whatever keeps it from reading the descriptor, a lack of permission too, is told as if
/// there were none.
ApiResult<PrometheusMetric> MetricsProvider::descriptor(const std::string &project,
                                                        const std::string &type) const
{
    auto metric = prometheusMetric(type);
    if (!metric)
        return noDescriptor(type);
    const auto known = isKnown(project, *metric);
    if (!known)
        m_sources.log("failed to get descriptor for metric \"" + type + "\": " + known.error().message);
    if (!known || !*known)
        return noDescriptor(type);
    return std::move(*metric);
}

ApiResult<std::vector<MetricSample>> MetricsProvider::series(const std::string &project,
                                                             const std::string &promql) const
{
    auto samples = m_sources.query(project, promql);
    if (!samples)
        return apiFail(500, "", samples.error().message);
    return std::move(*samples);
}

ApiResult<MetricsProvider::Sums> MetricsProvider::sums(const CustomMetricQuestion &question,
                                                       const PrometheusMetric &metric,
                                                       const SeriesFilter &filter,
                                                       const std::vector<std::string> &names) const
{
    Sums result;
    // What a reducer leaves has no labels, and so belongs to no object.
    if (filter.isEmpty || !filter.reducer.empty())
        return result;
    const std::string label = question.nameSpace.empty() ? "node" : "pod";
    for (std::size_t begin = 0; begin < names.size(); begin += mostAtOnce) {
        const std::size_t end = std::min(begin + mostAtOnce, names.size());
        std::vector<std::string> matchers{equalMatcher("project_id", {m_cluster.project}),
                                          equalMatcher("location", {m_cluster.location}),
                                          equalMatcher("cluster", {m_cluster.name})};
        if (!question.nameSpace.empty())
            matchers.push_back(equalMatcher("namespace", {question.nameSpace}));
        matchers.push_back(equalMatcher(label,
                                        {names.begin() + static_cast<std::ptrdiff_t>(begin),
                                         names.begin() + static_cast<std::ptrdiff_t>(end)}));
        matchers.insert(matchers.end(), filter.matchers.begin(), filter.matchers.end());
        const auto samples = series(m_cluster.project, seriesQuery(metric, matchers));
        if (!samples)
            return tl::unexpected(samples.error());
        for (const MetricSample &sample : *samples) {
            if (filter.accepts(sample.labels))
                result[sample.labels.value(label, std::string())] += sample.thousandths;
        }
    }
    return result;
}

json MetricsProvider::value(const CustomMetricQuestion &question, const std::string &name,
                            std::int64_t thousandths, const LabelSelector &selector) const
{
    const bool isNode = question.nameSpace.empty();
    // The real adapter gives the internal version of a group without a name.
    json object{{"apiVersion", "/__internal"}, {"kind", isNode ? "Node" : "Pod"}, {"name", name}};
    if (!isNode)
        object["namespace"] = question.nameSpace;
    json result{{"describedObject", std::move(object)},
                {"timestamp", timeText(m_sources.now())},
                {"value", quantityText(thousandths)}};
    if (question.version == "v1beta1") {
        result["metricName"] = question.metric;
        result["selector"] = labelSelectorObject(selector);
    } else {
        result["metric"] = {{"name", question.metric}, {"selector", labelSelectorObject(selector)}};
    }
    return result;
}

ApiResult<json> MetricsProvider::custom(const CustomMetricQuestion &question) const
{
    const auto selector = parsed(question.metricSelector, 500, "");
    if (!selector)
        return tl::unexpected(selector.error());
    const auto names = objects(question);
    if (!names)
        return tl::unexpected(names.error());
    const auto metric = descriptor(m_cluster.project, customMetricType(question.metric));
    if (!metric)
        return tl::unexpected(metric.error());
    if (metric->isDistribution && !names->empty())
        return apiFail(400, "BadRequest", "distributions are not supported");
    const auto filter = seriesFilter(*selector, false);
    if (!filter && !names->empty())
        return tl::unexpected(filter.error());
    const auto values = sums(question, *metric, filter ? *filter : SeriesFilter{}, *names);
    if (!values)
        return tl::unexpected(values.error());
    if (question.name != "*" && values->empty())
        return notFound("the server could not find the metric " + question.metric + " for "
                        + question.resource + " " + question.name);
    json items = json::array();
    for (const std::string &name : *names) {
        if (const auto found = values->find(name); found != values->end())
            items.push_back(value(question, name, found->second, *selector));
    }
    return listOf("MetricValueList", "custom.metrics.k8s.io/" + question.version, std::move(items));
}

ApiResult<json> MetricsProvider::external(const ExternalMetricQuestion &question) const
{
    const auto selector = parsed(question.selector, 400, "BadRequest");
    if (!selector)
        return tl::unexpected(selector.error());
    const auto filter = seriesFilter(*selector, true);
    const std::string project = filter && !filter->project.empty() ? filter->project : m_cluster.project;
    const auto metric = descriptor(project, externalMetricType(question.metric));
    if (!metric)
        return tl::unexpected(metric.error());
    if (metric->isDistribution)
        return apiFail(400, "BadRequest", "Distributions are not supported");
    if (!filter)
        return tl::unexpected(filter.error());
    std::vector<std::string> matchers = filter->matchers;
    if (filter->project.empty())
        matchers.push_back(equalMatcher("project_id", {project}));
    std::string promql = seriesQuery(*metric, matchers);
    if (!filter->reducer.empty()) {
        promql = reducedQuery(filter->reducer, promql);
        if (promql.empty() || !filter->comparisons.empty())
            return apiFail(400, "BadRequest",
                           "the reducer " + filter->reducer
                               + " is for metrics of true and false, or there is a comparison beside it: "
                                 "neither is done by the local target");
    }
    const auto samples = filter->isEmpty ? ApiResult<std::vector<MetricSample>>{} : series(project, promql);
    if (!samples)
        return tl::unexpected(samples.error());
    json items = json::array();
    for (const MetricSample &sample : *samples) {
        if (filter->accepts(sample.labels))
            items.push_back({{"metricName", question.metric},
                             {"metricLabels", metricLabels(sample.labels)},
                             {"timestamp", timeText(m_sources.now())},
                             {"value", quantityText(sample.thousandths)}});
    }
    return listOf("ExternalMetricValueList", "external.metrics.k8s.io/v1beta1", std::move(items));
}

} // namespace cluster::local
