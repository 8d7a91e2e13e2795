#include "cluster/local/metricsapi/series_filter.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cluster::local {

using nlohmann::json;

namespace {

using Op = SelectorOperator;

constexpr std::string_view metricLabels = "metric.labels.";
constexpr std::string_view resourceLabels = "resource.labels.";
constexpr std::array<std::string_view, 14> reducers{
    "REDUCE_NONE",          "REDUCE_MEAN",          "REDUCE_MIN",           "REDUCE_MAX",
    "REDUCE_SUM",           "REDUCE_STDDEV",        "REDUCE_COUNT",         "REDUCE_COUNT_TRUE",
    "REDUCE_COUNT_FALSE",   "REDUCE_FRACTION_TRUE", "REDUCE_PERCENTILE_99", "REDUCE_PERCENTILE_95",
    "REDUCE_PERCENTILE_50", "REDUCE_PERCENTILE_05"};

tl::unexpected<ApiFailure> badRequest(std::string message)
{
    return apiFail(400, "BadRequest", std::move(message));
}

tl::unexpected<ApiFailure> labelNotAllowed(const std::string &label)
{
    return badRequest("Metric label: \"" + label + "\" is not allowed");
}

/// A PromQL string.
std::string promqlText(std::string_view text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '\\' || c == '"')
            result += '\\';
        if (c == '\n')
            result += "\\n";
        else
            result += c;
    }
    return result + '"';
}

std::string regexOf(const std::vector<std::string> &values)
{
    constexpr std::string_view special = "\\.+*?()|[]{}^$";
    std::string regex;
    for (const std::string &value : values) {
        regex += regex.empty() ? "" : "|";
        for (const char c : value) {
            if (special.find(c) != std::string_view::npos)
                regex += '\\';
            regex += c;
        }
    }
    return regex;
}

bool isLabelName(std::string_view name)
{
    const auto isAllowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return !name.empty() && (name[0] < '0' || name[0] > '9')
        && std::all_of(name.begin(), name.end(), isAllowed);
}

const char *operatorName(Op op)
{
    switch (op) {
    case Op::NotEquals:
        return "!=";
    case Op::In:
        return "in";
    case Op::NotIn:
        return "notin";
    case Op::Exists:
        return "exists";
    case Op::DoesNotExist:
        return "!";
    case Op::GreaterThan:
        return "gt";
    case Op::LessThan:
        return "lt";
    case Op::Equals:
        break;
    }
    return "=";
}

bool isAllowed(const std::string &key, bool isExternal)
{
    if (key.starts_with(metricLabels))
        return true;
    return isExternal
        && (key.starts_with(resourceLabels) || key.starts_with("metadata.system_labels.")
            || key.starts_with("metadata.user_labels.") || key == "resource.type");
}

ApiResult<std::string> reducerOf(const SelectorRequirement &requirement)
{
    if (requirement.op != Op::Equals)
        return labelNotAllowed(std::string("Reducer must use '=' or '==': You used ")
                               + operatorName(requirement.op));
    const std::string reducer = *requirement.values.begin();
    if (std::find(reducers.begin(), reducers.end(), reducer) == reducers.end())
        return labelNotAllowed("Specified reducer is not supported: " + reducer);
    return reducer;
}

ApiResult<void> addRequirement(const SelectorRequirement &requirement, bool isExternal, SeriesFilter &filter)
{
    const std::string &key = requirement.key;
    if (requirement.op == Op::DoesNotExist)
        return badRequest("Label selector with operator DoesNotExist is not allowed");
    if (!isAllowed(key, isExternal))
        return labelNotAllowed(key);
    if (key == "resource.type") {
        // All series that are collected here are of one.
        filter.isEmpty = filter.isEmpty || !isMet(requirement, json{{"resource.type", "prometheus_target"}});
        return {};
    }
    const std::string label = key.substr(key.find('.', key.find('.') + 1) + 1);
    if (key.starts_with("metadata.") || !isLabelName(label)) {
        filter.isEmpty = true; // no series here has metadata
        return {};
    }
    const std::vector<std::string> values(requirement.values.begin(), requirement.values.end());
    switch (requirement.op) {
    case Op::Equals:
    case Op::In:
        filter.matchers.push_back(equalMatcher(label, values));
        break;
    case Op::NotEquals:
    case Op::NotIn:
        filter.matchers.push_back(label + "!~" + promqlText(regexOf(values)));
        break;
    case Op::Exists:
        filter.matchers.push_back(label + "!=\"\"");
        break;
    case Op::GreaterThan:
    case Op::LessThan:
        filter.comparisons.push_back({label, requirement.op, requirement.values});
        break;
    case Op::DoesNotExist:
        break;
    }
    return {};
}

} // namespace

bool SeriesFilter::accepts(const json &labels) const
{
    return std::all_of(comparisons.begin(), comparisons.end(),
                       [&](const SelectorRequirement &comparison) { return isMet(comparison, labels); });
}

ApiResult<SeriesFilter> seriesFilter(const LabelSelector &selector, bool isExternal)
{
    SeriesFilter filter;
    for (const SelectorRequirement &requirement : selector.requirements()) {
        if (requirement.key == "reducer") {
            auto reducer = reducerOf(requirement);
            if (!reducer)
                return tl::unexpected(reducer.error());
            filter.reducer = *reducer == "REDUCE_NONE" ? std::string() : *reducer;
            continue;
        }
        if (isExternal && requirement.key == "resource.labels.project_id") {
            if (requirement.op != Op::Equals)
                return labelNotAllowed(std::string("Project selector must use '=' or '==': You used ")
                                       + operatorName(requirement.op));
            filter.project = *requirement.values.begin();
        }
        if (const auto added = addRequirement(requirement, isExternal, filter); !added)
            return tl::unexpected(added.error());
    }
    return filter;
}

std::string equalMatcher(const std::string &label, const std::vector<std::string> &values)
{
    if (values.size() == 1)
        return label + "=" + promqlText(values.front());
    return label + "=~" + promqlText(regexOf(values));
}

json labelSelectorObject(const LabelSelector &selector)
{
    if (selector.requirements().empty())
        return nullptr;
    json labels = json::object(), expressions = json::array();
    const auto add = [&](const SelectorRequirement &requirement, const char *op) {
        json expression{{"key", requirement.key}, {"operator", op}};
        if (!requirement.values.empty())
            expression["values"] = requirement.values;
        expressions.push_back(std::move(expression));
    };
    for (const SelectorRequirement &requirement : selector.requirements()) {
        switch (requirement.op) {
        case Op::Equals:
            labels[requirement.key] = *requirement.values.begin();
            break;
        case Op::In:
            add(requirement, "In");
            break;
        case Op::NotEquals:
        case Op::NotIn:
            add(requirement, "NotIn");
            break;
        case Op::Exists:
            add(requirement, "Exists");
            break;
        case Op::DoesNotExist:
            add(requirement, "DoesNotExist");
            break;
        case Op::GreaterThan:
        case Op::LessThan:
            break; // metav1 has none of these
        }
    }
    json object = json::object();
    if (!labels.empty())
        object["matchLabels"] = std::move(labels);
    if (!expressions.empty())
        object["matchExpressions"] = std::move(expressions);
    return object;
}

} // namespace cluster::local
