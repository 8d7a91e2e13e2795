#include "cluster/local/gcp/monitoring_service.h"

#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

namespace cluster::local {

using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLookback{5 * 60 * 1000}; // Prometheus's: how old a sample may be that stands for now
constexpr std::int64_t kMostPoints = 11000; // of one series in an answer, Prometheus's

std::string numberText(double value)
{
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    char text[40];
    const auto [end, failure] = std::to_chars(text, text + sizeof text, value);
    return failure == std::errc{} ? std::string(text, end) : std::string("NaN");
}

json pointOf(MetricTime time, double value)
{
    return json::array({static_cast<double>(millisecondsOf(time)) / 1000.0, numberText(value)});
}

json success(json data)
{
    return {{"status", "success"}, {"data", std::move(data)}};
}

ServerResponse prometheusError(const Error &error)
{
    const bool isBad = error.code == ErrorCode::InvalidArgument;
    return jsonResponse(
        {{"status", "error"}, {"errorType", isBad ? "bad_data" : "execution"}, {"error", error.message}},
        isBad ? 400 : 422);
}

void addForm(std::multimap<std::string, std::string> &parameters, std::string_view form)
{
    while (!form.empty()) {
        const auto end = form.find('&');
        const std::string_view field = form.substr(0, end);
        form = end == std::string_view::npos ? std::string_view() : form.substr(end + 1);
        const auto equals = field.find('=');
        const auto name = percentDecoded(field.substr(0, equals), true);
        const auto value = equals == std::string_view::npos ? std::string()
                                                            : percentDecoded(field.substr(equals + 1), true);
        if (name && value)
            parameters.emplace(*name, *value);
    }
}

std::string valueOf(const std::multimap<std::string, std::string> &parameters, const std::string &name)
{
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
}

/// The sample that stands for `time`, if one is young enough.
const std::pair<MetricTime, double> *sampleAt(const MetricSeries &series, MetricTime time)
{
    const auto behind = std::upper_bound(series.points.begin(), series.points.end(), time,
                                         [](MetricTime t, const auto &point) { return t < point.first; });
    if (behind == series.points.begin())
        return nullptr;
    const auto &point = *std::prev(behind);
    return time - point.first <= kLookback ? &point : nullptr;
}

} // namespace

ServerResponse MonitoringService::handle(const ServerRequest &request, Path path)
{
    const bool isOurs = path.size() >= 9 && path[0] == "v1" && path[1] == "projects" && path[3] == "location"
        && path[4] == "global" && path[5] == "prometheus" && path[6] == "api" && path[7] == "v1"
        && (request.method == "GET" || request.method == "POST");
    if (!isOurs)
        return unknownMethodResponse(request);
    if (const auto project = m_projects.require(path[2]); !project)
        return errorResponse(project.error());
    if (!m_context.prometheusUrl.empty())
        return forward(request, path.subspan(6));
    Parameters parameters(request.query.begin(), request.query.end());
    if (request.method == "POST")
        addForm(parameters, request.body);
    const auto body = answer(parameters, path.subspan(8));
    return body ? jsonResponse(*body) : prometheusError(body.error());
}

ServerResponse MonitoringService::forward(const ServerRequest &request, Path path) const
{
    HttpRequest onward;
    onward.method = request.method;
    onward.url = m_context.prometheusUrl;
    for (const std::string &segment : path)
        onward.url += "/" + urlEncoded(segment);
    if (const auto question = request.target.find('?'); question != std::string::npos)
        onward.url += request.target.substr(question);
    if (const auto type = request.header("content-type"))
        onward.headers.push_back({"Content-Type", std::string(*type)});
    onward.body = request.body;
    const auto answer = m_client.send(onward);
    if (!answer)
        return prometheusError({ErrorCode::Unavailable,
                                "the local target's Prometheus does not answer: " + answer.error().message});
    return {answer->status,
            {{"content-type", std::string(answer->header("content-type").value_or("application/json"))}},
            answer->body};
}

std::vector<MetricSeries> MonitoringService::select(const PrometheusSelector &selector, MetricTime from,
                                                    MetricTime to) const
{
    if (!m_context.metrics)
        return {};
    return m_context.metrics->select(selector.matchers, from - selector.offset, to - selector.offset);
}

Result<MetricTime> MonitoringService::timeOf(const Parameters &parameters, const std::string &name,
                                             MetricTime otherwise) const
{
    const std::string text = valueOf(parameters, name);
    if (text.empty())
        return otherwise;
    double seconds = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failure == std::errc{} && end == text.data() + text.size() && std::abs(seconds) < 1e11)
        return timeOfMilliseconds(static_cast<std::int64_t>(seconds * 1000));
    std::tm parts{};
    char zone = 0;
    if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%c", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                    &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &zone)
            == 7
        && (zone == 'Z' || zone == '.')) {
        parts.tm_year -= 1900;
        parts.tm_mon -= 1;
        return std::chrono::system_clock::from_time_t(timegm(&parts));
    }
    return fail(ErrorCode::InvalidArgument,
                "invalid parameter \"" + name + "\": cannot parse \"" + text + "\" to a valid timestamp");
}

Result<json> MonitoringService::query(const Parameters &parameters) const
{
    const auto selector = parseSelector(valueOf(parameters, "query"));
    const auto time = timeOf(parameters, "time", m_context.now());
    if (!selector || !time)
        return tl::unexpected(selector ? time.error() : selector.error());
    const bool isRange = selector->range.count() > 0;
    json result = json::array();
    for (const MetricSeries &series :
         select(*selector, *time - (isRange ? selector->range : kLookback), *time)) {
        json one{{"metric", series.labels}};
        if (isRange) {
            json values = json::array();
            for (const auto &[at, value] : series.points)
                values.push_back(pointOf(at, value));
            one["values"] = std::move(values);
        } else if (const auto *sample = sampleAt(series, *time - selector->offset)) {
            one["value"] = pointOf(*time, sample->second);
        }
        if (one.contains("value") || (isRange && !one["values"].empty()))
            result.push_back(std::move(one));
    }
    return success({{"resultType", isRange ? "matrix" : "vector"}, {"result", std::move(result)}});
}

Result<json> MonitoringService::queryRange(const Parameters &parameters) const
{
    const auto selector = parseSelector(valueOf(parameters, "query"));
    const auto start = timeOf(parameters, "start", m_context.now());
    const auto end = timeOf(parameters, "end", m_context.now());
    const auto step = parsePrometheusDuration(valueOf(parameters, "step"));
    if (!selector)
        return tl::unexpected(selector.error());
    if (!start || !end)
        return tl::unexpected(start ? end.error() : start.error());
    if (!step || step->count() == 0 || *end < *start || selector->range.count() > 0)
        return fail(ErrorCode::InvalidArgument,
                    "a range query needs an instant vector, a step above 0, and an end not before its start");
    if ((*end - *start) / *step >= kMostPoints)
        return fail(ErrorCode::InvalidArgument,
                    "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query "
                    "resolution (?step=XX)");
    json result = json::array();
    for (const MetricSeries &series : select(*selector, *start - kLookback, *end)) {
        json values = json::array();
        for (MetricTime time = *start; time <= *end; time += *step) {
            if (const auto *sample = sampleAt(series, time - selector->offset))
                values.push_back(pointOf(time, sample->second));
        }
        if (!values.empty())
            result.push_back({{"metric", series.labels}, {"values", std::move(values)}});
    }
    return success({{"resultType", "matrix"}, {"result", std::move(result)}});
}

/// The series of all match[] selectors in a time span; without any: all series.
Result<std::vector<MetricSeries>> MonitoringService::matching(const Parameters &parameters) const
{
    const auto end = timeOf(parameters, "end", m_context.now());
    const auto start = timeOf(parameters, "start", m_context.now() - std::chrono::hours(1));
    if (!start || !end)
        return tl::unexpected(start ? end.error() : start.error());
    std::vector<MetricSeries> all;
    const auto [first, last] = parameters.equal_range("match[]");
    if (first == last)
        return select({}, *start, *end);
    for (auto at = first; at != last; ++at) {
        const auto selector = parseSelector(at->second);
        if (!selector)
            return tl::unexpected(selector.error());
        for (MetricSeries &series : select(*selector, *start, *end))
            all.push_back(std::move(series));
    }
    return all;
}

Result<json> MonitoringService::answer(const Parameters &parameters, Path path) const
{
    if (path.size() == 1 && path[0] == "query")
        return query(parameters);
    if (path.size() == 1 && path[0] == "query_range")
        return queryRange(parameters);
    if (path.size() == 1 && path[0] == "metadata")
        return success(json::object());
    const bool isValues = path.size() == 3 && path[0] == "label" && path[2] == "values";
    if (!isValues && (path.size() != 1 || (path[0] != "labels" && path[0] != "series")))
        return fail(ErrorCode::Unimplemented, "the local target has no Prometheus method of this path");
    const auto found = matching(parameters);
    if (!found)
        return tl::unexpected(found.error());
    std::set<std::string> texts;
    json series = json::array();
    for (const MetricSeries &one : *found) {
        if (path[0] == "series")
            series.push_back(one.labels);
        for (const auto &[label, value] : one.labels) {
            if (!isValues)
                texts.insert(label);
            else if (label == path[1])
                texts.insert(value);
        }
    }
    return success(path[0] == "series" ? series : json(texts));
}

} // namespace cluster::local
