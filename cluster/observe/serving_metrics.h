#pragma once

#include "cluster/observe/counter.h"
#include "cluster/observe/histogram.h"
#include "cluster/observe/prometheus_text.h"
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cluster {

using SampleTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// Unix seconds, the unit of `_created`.
[[nodiscard]] double unixSeconds(SampleTime time);

/// What a serving engine tells about itself, by our names.
enum class ServingField {
    Running,
    Waiting,
    KvUse,
    KvCapacity,
    PrefixQueries,
    PrefixHits,
    PrefixHitRatio,
    PromptTokens,
    OutputTokens,
    OutputTokenRate,
    Ttft,
    InterToken,
    TimePerOutputToken,
    EndToEnd,
    QueueTime,
    Steps,
    Preemptions,
    Finished,
    Errors,
    Rejected,
};

[[nodiscard]] std::string_view fieldName(ServingField field); ///< "requests running"

enum class ServingProduct { Unknown, Vllm, RayServeVllm, Sglang, Tgi, LlamaCpp, JetStream };

[[nodiscard]] std::string_view productName(ServingProduct product);

/// Which name of the page stood for a field.
struct FieldSource
{
    ServingField field = ServingField::Running;
    std::string name; ///< As on the wire.
    std::string renamed; ///< Empty, or a remark for a person: "renamed kv_cache_usage_perc in vLLM 0.9".
};

/// One scrape of one server (or the sum of several), translated. What is empty was not exported: that is not
/// zero.
struct ServingSample
{
    SampleTime time{};
    ServingProduct product = ServingProduct::Unknown;
    std::vector<std::string> modelNames; ///< Values of model_name, sorted, each once.
    int engineCount = 0; ///< Engines and replicas that reported; 0 if unknown.

    std::optional<double> running; ///< Requests in the batch, all engines together.
    std::optional<double> waiting;
    std::map<std::string, double> waitingByReason; ///< capacity, deferred (vLLM from about 0.21).
    std::optional<double> kvUse; ///< 0 to 1, mean over the engines.
    std::optional<double> slotsUse; ///< 0 to 1, JetStream only, which tells no count of running requests.
    std::optional<double> kvCapacityTokens; ///< All engines together.
    std::optional<CounterReading>
        prefixQueries; ///< Tokens, or blocks in vLLM 0.8: only the ratio is comparable.
    std::optional<CounterReading> prefixHits;
    std::optional<double>
        prefixHitRatio; ///< 0 to 1, only where the server gives a gauge instead of counters.
    std::optional<CounterReading> promptTokens;
    std::optional<CounterReading> outputTokens;
    std::optional<double> outputTokenRate; ///< Tokens/s, only where the server gives a gauge and no counter.
    std::optional<HistogramReading> ttft; ///< Seconds.
    std::optional<HistogramReading> interToken; ///< Seconds; single gaps.
    std::optional<HistogramReading> timePerOutputToken; ///< Seconds; mean of each request.
    std::optional<HistogramReading> endToEnd; ///< Seconds.
    std::optional<HistogramReading> queueTime; ///< Seconds.
    std::optional<CounterReading> steps; ///< Engine steps (count of iteration_tokens_total, or decode calls).
    std::optional<CounterReading> preemptions;
    std::map<std::string, CounterReading> finished; ///< By reason: stop, length, abort, error, …
    std::optional<CounterReading> errors; ///< HTTP 5xx, or what the product counts as failed.
    std::optional<CounterReading> rejected; ///< Turned away by a queue limit.

    std::vector<FieldSource> sources; ///< In the order of ServingField; fields that are missing have none.
    std::vector<ServingField> announced; ///< The page names the metric (HELP, TYPE) but gave no value yet.

    [[nodiscard]] const FieldSource *source(ServingField field) const;
    /// "not exported by this version", with what would carry it: the text for an empty chart. Empty if it is
    /// there.
    [[nodiscard]] std::string whyMissing(ServingField field) const;
};

/// Translates a page by the first name that is there, for each field (old and new names are never added up).
/// Counts are summed over the series, ratios are averaged.
/// Source: contracts of vLLM V0, 0.8 to 0.32, Ray Serve LLM, SGLang, TGI, llama.cpp, JetStream.
[[nodiscard]] ServingSample readServingMetrics(const MetricPage &page, SampleTime time);

struct NamedSample
{
    std::string name; ///< Of the endpoint or replica.
    ServingSample sample;
};

/// Several replicas as one: counts and counters are summed, ratios averaged over those that report them, and
/// a field is present if any replica has it. The time is the newest.
[[nodiscard]] ServingSample aggregate(const std::vector<NamedSample> &samples);

} // namespace cluster
