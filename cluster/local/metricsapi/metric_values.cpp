#include "cluster/local/metricsapi/metric_values.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t mostOfText = 300;

/// Nothing for what isn't a finite number.
std::optional<std::int64_t> thousandthsOf(const std::string &text)
{
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(value))
        return std::nullopt;
    constexpr double most = 9.2e18;
    const double scaled = std::trunc(value * 1000);
    if (scaled >= most)
        return std::numeric_limits<std::int64_t>::max();
    if (scaled <= -most)
        return std::numeric_limits<std::int64_t>::min() + 1; // has a counterpart, so that it can be negated
    return static_cast<std::int64_t>(scaled);
}

bool isLabels(const json &labels)
{
    if (!labels.is_object())
        return false;
    for (const auto &[name, value] : labels.items()) {
        if (!value.is_string())
            return false;
    }
    return true;
}

tl::unexpected<Error> noAnswer()
{
    return fail(ErrorCode::DataLoss, "the metrics' store gave no answer of its own form");
}

/// "data" of a successful answer.
const json *dataOf(const json &answer)
{
    if (!answer.is_object() || answer.value("status", json()) != "success")
        return nullptr;
    const auto data = answer.find("data");
    return data == answer.end() || !data->is_object() ? nullptr : &*data;
}

} // namespace

Result<std::vector<MetricSample>> metricSamples(std::string_view body)
{
    const json answer = json::parse(body, nullptr, false);
    const json *data = dataOf(answer);
    if (data == nullptr || data->value("resultType", json()) != "vector")
        return noAnswer();
    const auto result = data->find("result");
    if (result == data->end() || !result->is_array())
        return noAnswer();
    std::vector<MetricSample> samples;
    for (const json &series : *result) {
        const json labels = series.is_object() ? series.value("metric", json()) : json();
        const json value = series.is_object() ? series.value("value", json()) : json();
        if (!isLabels(labels) || !value.is_array() || value.size() != 2 || !value[1].is_string())
            return noAnswer();
        if (const auto thousandths = thousandthsOf(value[1].get<std::string>()))
            samples.push_back({labels, *thousandths});
    }
    return samples;
}

Result<std::vector<std::string>> metricTypes(std::string_view body, const std::string &name)
{
    const json answer = json::parse(body, nullptr, false);
    const json *data = dataOf(answer);
    if (data == nullptr)
        return noAnswer();
    std::vector<std::string> types;
    const json list = data->value(name, json::array());
    if (!list.is_array())
        return noAnswer();
    for (const json &one : list) {
        if (one.is_object() && one.contains("type") && one["type"].is_string())
            types.push_back(one["type"].get<std::string>());
    }
    return types;
}

std::string errorText(std::string_view body)
{
    const json answer = json::parse(body, nullptr, false);
    if (answer.is_object() && answer.contains("error")) {
        const json &error = answer["error"];
        if (error.is_string())
            return error.get<std::string>();
        if (error.is_object() && error.contains("message") && error["message"].is_string())
            return error["message"].get<std::string>();
    }
    return std::string(body.substr(0, mostOfText));
}

std::string quantityText(std::int64_t thousandths)
{
    if (thousandths % 1000 != 0)
        return std::to_string(thousandths) + "m";
    std::int64_t whole = thousandths / 1000;
    static constexpr std::array<const char *, 6> suffixes{"", "k", "M", "G", "T", "P"};
    std::size_t power = 0;
    for (; whole != 0 && whole % 1000 == 0 && power + 1 < suffixes.size(); ++power)
        whole /= 1000;
    return std::to_string(whole) + suffixes[power];
}

} // namespace cluster::local
