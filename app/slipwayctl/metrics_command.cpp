#include "app/slipwayctl/command_line.h"
#include "cluster/net/http_client.h"
#include "cluster/observe/serving_metrics.h"

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

namespace slipwayctl {

namespace {

using Json = nlohmann::ordered_json;
using cluster::ErrorCode;
using cluster::HistogramReading;
using cluster::ServingField;
using cluster::ServingSample;

struct Arguments
{
    std::string baseUrl = "http://127.0.0.1:8000";
    double watchSeconds = 0;
};

std::string metricsUrl(std::string base)
{
    while (base.ends_with('/'))
        base.pop_back();
    if (base.ends_with("/metrics"))
        return base;
    if (base.ends_with("/v1"))
        base.resize(base.size() - 3);
    return base + "/metrics";
}

cluster::Result<ServingSample> readSample(cluster::HttpClient &http, const std::string &url,
                                          const cluster::CancelToken &cancel)
{
    cluster::HttpRequest request;
    request.url = url;
    cluster::HttpOptions options;
    options.cancel = cancel;
    options.followRedirects = true; // older servers redirect to /metrics/
    options.deadline = cluster::Deadline::after(std::chrono::seconds(10));
    const auto response = http.send(request, options);
    if (!response)
        return tl::unexpected(response.error());
    if (response->status != 200)
        return cluster::fail(response->status == 404 ? ErrorCode::NotFound : ErrorCode::Unavailable,
                             url + " answered " + std::to_string(response->status) + ": check the address");
    const cluster::MetricPage page = cluster::parsePrometheusText(response->body);
    if (page.points.empty())
        return cluster::fail(ErrorCode::InvalidArgument, url + " gave no metrics: check the address");
    const auto now
        = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
    return cluster::readServingMetrics(page, now);
}

Json number(const std::optional<double> &value)
{
    return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json counter(const std::optional<cluster::CounterReading> &value)
{
    return value ? Json(value->total()) : Json();
}

/// Since the server's start: a snapshot has nothing to compare with.
Json percentiles(const std::optional<HistogramReading> &reading)
{
    if (!reading)
        return {};
    const cluster::Histogram histogram = reading->merged();
    Json json = {{"count", histogram.count}, {"mean_seconds", number(histogram.mean())}};
    for (const auto &[name, share] :
         {std::pair{"p50_seconds", 0.5}, {"p95_seconds", 0.95}, {"p99_seconds", 0.99}}) {
        const auto found = cluster::quantile(histogram, share);
        json[name] = found ? Json(found->value) : Json();
    }
    return json;
}

Json toJson(const ServingSample &sample)
{
    Json json
        = {{"time", cluster::unixSeconds(sample.time)}, {"product", cluster::productName(sample.product)}};
    json["models"] = sample.modelNames;
    json["requests_running"] = number(sample.running);
    json["requests_waiting"] = number(sample.waiting);
    json["kv_cache_use"] = number(sample.kvUse);
    json["prompt_tokens"] = counter(sample.promptTokens);
    json["output_tokens"] = counter(sample.outputTokens);
    json["prefix_cache_queries"] = counter(sample.prefixQueries);
    json["prefix_cache_hits"] = counter(sample.prefixHits);
    json["preemptions"] = counter(sample.preemptions);
    json["time_to_first_token"] = percentiles(sample.ttft);
    json["inter_token"] = percentiles(sample.interToken);
    json["time_per_output_token"] = percentiles(sample.timePerOutputToken);
    json["end_to_end"] = percentiles(sample.endToEnd);
    json["queue_time"] = percentiles(sample.queueTime);
    json["finished"] = Json::object();
    for (const auto &[reason, count] : sample.finished)
        json["finished"][reason] = count.total();
    json["sources"] = Json::object();
    for (const cluster::FieldSource &source : sample.sources)
        json["sources"][std::string(cluster::fieldName(source.field))] = source.name;
    return json;
}

std::string line(const std::string &name, const std::string &value)
{
    char text[200];
    std::snprintf(text, sizeof text, "%-24s %s\n", name.c_str(), value.c_str());
    return text;
}

std::string plain(double value, const char *unit = "")
{
    char text[60];
    std::snprintf(text, sizeof text, "%.6g%s", value, unit);
    return text;
}

/// "12.5 ms". Where the buckets leave it wholly open, their bound: "<300 ms" in the first, ">60000 ms" in the
/// last; half of the first bucket's bound would look measured.
std::string millisecondsAt(const cluster::Histogram &histogram, double share)
{
    const auto found = cluster::quantile(histogram, share);
    if (!found)
        return "unknown";
    const bool isInFirst = found->low <= 0;
    const bool isInLast = std::isinf(found->high);
    const char *sign = isInLast ? ">" : isInFirst ? "<" : "";
    char text[60];
    std::snprintf(text, sizeof text, "%s%.4g ms", sign,
                  (isInFirst && !isInLast ? found->high : found->value) * 1000);
    return text;
}

std::string distributionLine(const char *name, const std::optional<HistogramReading> &reading)
{
    if (!reading || reading->merged().isEmpty())
        return line(name, reading ? "no observation yet" : "not exported");
    const cluster::Histogram histogram = reading->merged();
    char count[60];
    std::snprintf(count, sizeof count, "  (%.0f since start)", histogram.count);
    return line(name,
                "p50 " + millisecondsAt(histogram, 0.5) + "  p95 " + millisecondsAt(histogram, 0.95)
                    + "  p99 " + millisecondsAt(histogram, 0.99) + count);
}

std::string asText(const ServingSample &sample)
{
    std::string models;
    for (const std::string &name : sample.modelNames)
        models += (models.empty() ? "" : ", ") + name;
    const auto gauge = [](const std::optional<double> &value, double factor = 1, const char *unit = "") {
        return value ? plain(*value * factor, unit) : std::string("not exported");
    };
    const auto total = [](const std::optional<cluster::CounterReading> &value) {
        return value ? plain(value->total()) : std::string("not exported");
    };
    std::string text = line(
        "server", std::string(cluster::productName(sample.product)) + (models.empty() ? "" : ": " + models));
    text += line("requests running", gauge(sample.running));
    text += line("requests waiting", gauge(sample.waiting));
    text += line("KV cache in use", gauge(sample.kvUse, 100, " %"));
    text += line("prompt tokens", total(sample.promptTokens));
    text += line("output tokens", total(sample.outputTokens));
    if (sample.prefixQueries && sample.prefixHits && sample.prefixQueries->total() > 0)
        text += line(
            "prefix cache hits",
            plain(std::round(1000 * sample.prefixHits->total() / sample.prefixQueries->total()) / 10, " %"));
    text += distributionLine("time to first token", sample.ttft);
    text += distributionLine("between tokens", sample.interToken);
    text += distributionLine("end to end", sample.endToEnd);
    text += distributionLine("time in queue", sample.queueTime);
    std::string finished;
    for (const auto &[reason, count] : sample.finished) {
        if (count.total() > 0)
            finished += (finished.empty() ? "" : ", ") + reason + " " + plain(count.total());
    }
    return text + line("finished", finished.empty() ? "none yet" : finished);
}

bool printSample(const CommandContext &context, const ServingSample &sample, bool isWatching)
{
    if (!context.wantsJson)
        return print(asText(sample) + (isWatching ? "\n" : ""));
    // While watching one object a line: a reader can take each as it comes.
    return isWatching ? print(toJson(sample).dump() + "\n") : printJson(toJson(sample));
}

/// False when interrupted.
bool waitFor(double seconds, const cluster::CancelToken &cancel)
{
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, cancel, std::chrono::duration<double>(seconds), [] { return false; });
    return !cancel.stop_requested();
}

void showMetrics(CommandContext &context, const Arguments &arguments)
{
    cluster::HttpClient http;
    const std::string url = metricsUrl(arguments.baseUrl);
    const cluster::CancelToken cancel = context.interrupts.begin();
    const bool isWatching = arguments.watchSeconds > 0;
    do {
        const auto sample = readSample(http, url, cancel);
        if (!sample && isWatching && cancel.stop_requested())
            return; // Ctrl-C is how watching ends
        if (!sample) {
            report(context, sample.error());
            return;
        }
        if (!printSample(context, *sample, isWatching))
            return;
    } while (isWatching && waitFor(arguments.watchSeconds, cancel));
}

} // namespace

void addMetricsCommand(CLI::App &app, CommandContext &context)
{
    const auto arguments = std::make_shared<Arguments>();
    CLI::App *command
        = app.add_subcommand("metrics", "What a serving engine says of itself: requests, tokens, times")
              ->fallthrough();
    command->add_option("--base-url,--url", arguments->baseUrl, "the server, or its /metrics")
        ->capture_default_str();
    command->add_option("--watch", arguments->watchSeconds, "again every SECONDS, until Ctrl-C")
        ->expected(0, 1)
        ->default_str("2")
        ->check(CLI::PositiveNumber);
    command->callback([&context, arguments] { showMetrics(context, *arguments); });
}

} // namespace slipwayctl
