#include "cluster/observe/serving_metrics.h"

#include "cluster/observe/prometheus_line.h"
#include "cluster/observe/serving_page.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace cluster {

using detail::NameCandidate;
using detail::ServingPage;

namespace {

std::optional<double> number(const LabelSet &labels, std::string_view name)
{
    const auto text = labelValue(labels, name);
    return text ? detail::parseMetricNumber(*text) : std::nullopt; // "None" before the engine has started
}

std::optional<double> sumOf(const std::vector<const MetricPoint *> &points)
{
    std::optional<double> sum;
    for (const MetricPoint *point : points) {
        if (std::isfinite(point->value))
            sum = sum.value_or(0) + point->value;
    }
    return sum;
}

std::optional<double> meanOf(const std::vector<const MetricPoint *> &points)
{
    double sum = 0;
    int count = 0;
    for (const MetricPoint *point : points) {
        if (std::isfinite(point->value)) {
            sum += point->value;
            ++count;
        }
    }
    return count == 0 ? std::nullopt : std::optional(sum / count);
}

/// Fills a sample field by field.
class SampleReader
{
public:
    SampleReader(const MetricPage &page, SampleTime time) : m_raw(page), m_page(page)
    {
        m_sample.time = time;
    }

    ServingSample read();

private:
    struct Choice
    {
        std::string wireName;
        ServingProduct product = ServingProduct::Unknown;
    };

    static bool isHistogram(ServingField field);
    Choice choose(ServingField field); ///< The first name that is there; notes it as the source.
    void take(ServingField field, std::optional<double> &target,
              std::optional<double> (*combine)(const std::vector<const MetricPoint *> &));
    void take(ServingField field, std::optional<CounterReading> &target);
    void take(ServingField field, std::optional<HistogramReading> &target);
    void takePrefixCache();
    void takeCapacity();
    void takeFinished();
    void takeErrors();
    void takeIdentity();

    const MetricPage &m_raw;
    ServingPage m_page;
    ServingSample m_sample;
};

bool SampleReader::isHistogram(ServingField field)
{
    return field == ServingField::Ttft || field == ServingField::InterToken
        || field == ServingField::TimePerOutputToken || field == ServingField::EndToEnd
        || field == ServingField::QueueTime;
}

SampleReader::Choice SampleReader::choose(ServingField field)
{
    bool isAnnounced = false;
    for (const NameCandidate &candidate : detail::nameCandidates()) {
        if (candidate.field != field)
            continue;
        const std::string found
            = isHistogram(field) ? m_page.histogramWireName(candidate.name) : m_page.wireName(candidate.name);
        if (found.empty()) {
            isAnnounced = isAnnounced || m_page.isAnnounced(candidate.name);
            continue;
        }
        const bool isRay = found.starts_with("ray_") && candidate.product == ServingProduct::Vllm;
        const Choice choice{found, isRay ? ServingProduct::RayServeVllm : candidate.product};
        m_sample.sources.push_back({field, found, std::string(candidate.renamed)});
        if (m_sample.product == ServingProduct::Unknown
            && field != ServingField::Errors) // http_requests_total is anybody's
            m_sample.product = choice.product;
        return choice;
    }
    if (isAnnounced)
        m_sample.announced.push_back(field);
    return {};
}

void SampleReader::take(ServingField field, std::optional<double> &target,
                        std::optional<double> (*combine)(const std::vector<const MetricPoint *> &))
{
    const Choice choice = choose(field);
    if (!choice.wireName.empty())
        target = combine(m_page.series(choice.wireName));
}

void SampleReader::take(ServingField field, std::optional<CounterReading> &target)
{
    const Choice choice = choose(field);
    if (!choice.wireName.empty())
        target = m_page.counter(choice.wireName);
}

void SampleReader::take(ServingField field, std::optional<HistogramReading> &target)
{
    const Choice choice = choose(field);
    if (!choice.wireName.empty())
        target = m_page.histogram(choice.wireName);
}

void SampleReader::takePrefixCache()
{
    take(ServingField::PrefixQueries, m_sample.prefixQueries);
    const Choice hits = choose(ServingField::PrefixHits);
    if (!hits.wireName.empty())
        m_sample.prefixHits = m_page.counter(hits.wireName);
    if (hits.product == ServingProduct::LlamaCpp) {
        // llama.cpp counts cached and computed prompt tokens apart; together they are what was looked up.
        m_sample.prefixQueries = m_sample.prefixHits;
        const CounterReading computed = m_page.counter(m_page.wireName("llamacpp:prompt_tokens_total"));
        if (!computed.parts.empty() && !m_sample.prefixQueries->parts.empty())
            m_sample.prefixQueries->parts.front().value += computed.total();
        m_sample.sources.push_back({ServingField::PrefixQueries, hits.wireName, {}});
    }
    take(ServingField::PrefixHitRatio, m_sample.prefixHitRatio, meanOf);
    if (m_sample.prefixHitRatio && *m_sample.prefixHitRatio < 0) // vLLM V0 says -1 for "unknown"
        m_sample.prefixHitRatio.reset();
}

void SampleReader::takeCapacity()
{
    const Choice choice = choose(ServingField::KvCapacity);
    for (const MetricPoint *point : m_page.series(choice.wireName)) {
        auto tokens = number(point->labels, "kv_cache_size_tokens");
        const auto blocks = number(point->labels, "num_gpu_blocks");
        const auto blockSize = number(point->labels, "block_size");
        if (!tokens && blocks && blockSize)
            tokens = *blocks * *blockSize;
        if (tokens)
            m_sample.kvCapacityTokens = m_sample.kvCapacityTokens.value_or(0) + *tokens;
    }
}

void SampleReader::takeFinished()
{
    const Choice choice = choose(ServingField::Finished);
    if (choice.wireName.empty())
        return;
    const CounterReading all = m_page.counter(choice.wireName);
    const auto points = m_page.series(choice.wireName);
    for (const MetricPoint *point : points) {
        const std::string reason(labelValue(point->labels, "finished_reason").value_or("finished"));
        const std::string whole = labelText(point->labels);
        const auto part = std::find_if(all.parts.begin(), all.parts.end(),
                                       [&whole](const CounterPart &one) { return one.series == whole; });
        if (part != all.parts.end())
            m_sample.finished[reason].parts.push_back(
                {detail::seriesKey(point->labels, {"finished_reason"}), part->value, part->created});
    }
    const std::string aborted = m_page.wireName("sglang:num_aborted_requests_total");
    if (!aborted.empty())
        m_sample.finished["abort"] = m_page.counter(aborted);
}

void SampleReader::takeErrors()
{
    const Choice choice = choose(ServingField::Errors);
    if (choice.wireName.empty()) {
        if (!m_sample.announced.empty() && m_sample.announced.back() == ServingField::Errors)
            m_sample.errors
                = CounterReading{{CounterPart{}}}; // the server counts them and had no request yet
        return;
    }
    if (choice.product == ServingProduct::Tgi) {
        m_sample.errors = m_page.counter(choice.wireName);
        return;
    }
    // A label set appears at its first error, and would be new then. One sum that is 0 before that is a
    // counter.
    CounterPart sum;
    for (const MetricPoint *point : m_page.series(choice.wireName)) {
        const auto code = choice.product == ServingProduct::Vllm ? labelValue(point->labels, "status")
                                                                 : labelValue(point->labels, "error_code");
        if (code && code->starts_with('5'))
            sum.value += point->value;
    }
    m_sample.errors = CounterReading{{sum}};
}

void SampleReader::takeIdentity()
{
    std::set<std::string> models;
    std::set<std::string> engines;
    for (const FieldSource &source : m_sample.sources) {
        for (const std::size_t i : m_raw.find(source.name)) {
            const LabelSet &labels = m_raw.points[i].labels;
            if (const auto model = labelValue(labels, "model_name"))
                models.insert(std::string(*model));
            if (source.field
                == m_sample.sources.front().field) // of equal kind in all products: running or waiting
                engines.insert(labelText(labels));
        }
    }
    m_sample.modelNames.assign(models.begin(), models.end());
    m_sample.engineCount = static_cast<int>(engines.size());
}

ServingSample SampleReader::read()
{
    const auto slots = m_page.series(m_page.wireName("jetstream_slots_used_percentage"));
    m_sample.slotsUse = meanOf(slots);
    if (m_sample.slotsUse)
        m_sample.product = ServingProduct::JetStream;
    take(ServingField::Running, m_sample.running, sumOf);
    take(ServingField::Waiting, m_sample.waiting, sumOf);
    for (const MetricPoint *point : m_page.series(m_page.wireName("vllm:num_requests_waiting_by_reason"))) {
        if (const auto reason = labelValue(point->labels, "reason"); reason && std::isfinite(point->value))
            m_sample.waitingByReason[std::string(*reason)] += point->value;
    }
    take(ServingField::KvUse, m_sample.kvUse, meanOf);
    takeCapacity();
    takePrefixCache();
    take(ServingField::PromptTokens, m_sample.promptTokens);
    take(ServingField::OutputTokens, m_sample.outputTokens);
    take(ServingField::OutputTokenRate, m_sample.outputTokenRate, sumOf);
    take(ServingField::Ttft, m_sample.ttft);
    take(ServingField::InterToken, m_sample.interToken);
    take(ServingField::TimePerOutputToken, m_sample.timePerOutputToken);
    take(ServingField::EndToEnd, m_sample.endToEnd);
    take(ServingField::QueueTime, m_sample.queueTime);
    take(ServingField::Steps, m_sample.steps);
    take(ServingField::Preemptions, m_sample.preemptions);
    takeFinished();
    takeErrors();
    take(ServingField::Rejected, m_sample.rejected);
    takeIdentity();
    return std::move(m_sample);
}

} // namespace

double unixSeconds(SampleTime time)
{
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

const FieldSource *ServingSample::source(ServingField field) const
{
    const auto found = std::find_if(sources.begin(), sources.end(),
                                    [field](const FieldSource &one) { return one.field == field; });
    return found == sources.end() ? nullptr : &*found;
}

std::string ServingSample::whyMissing(ServingField field) const
{
    if (source(field) != nullptr)
        return {};
    const std::string what(fieldName(field));
    if (std::find(announced.begin(), announced.end(), field) != announced.end())
        return what + ": no value yet; the server gives it after its first request";
    std::string names;
    for (const NameCandidate &candidate : detail::nameCandidates()) {
        const bool isSameProduct = candidate.product == product
            || (product == ServingProduct::RayServeVllm && candidate.product == ServingProduct::Vllm);
        if (candidate.field == field && (isSameProduct || product == ServingProduct::Unknown))
            names += (names.empty() ? "" : ", ") + std::string(candidate.name);
    }
    if (names.empty())
        return what + ": " + std::string(productName(product)) + " does not export this";
    return what + ": not exported by this version of " + std::string(productName(product)) + " (looked for "
        + names + ")";
}

ServingSample readServingMetrics(const MetricPage &page, SampleTime time)
{
    return SampleReader(page, time).read();
}

} // namespace cluster
