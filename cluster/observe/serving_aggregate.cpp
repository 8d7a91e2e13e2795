#include "cluster/observe/serving_metrics.h"

#include <algorithm>

namespace cluster {

namespace {

/// Ratios: each replica weighs as much as it has engines.
class WeightedMean
{
public:
    void add(const std::optional<double> &ratio, double weight)
    {
        if (ratio) {
            m_sum += *ratio * weight;
            m_weight += weight;
        }
    }
    [[nodiscard]] std::optional<double> mean() const
    {
        return m_weight > 0 ? std::optional(m_sum / m_weight) : std::nullopt;
    }

private:
    double m_sum = 0;
    double m_weight = 0;
};

void addTo(std::optional<double> &sum, const std::optional<double> &value)
{
    if (value)
        sum = sum.value_or(0) + *value;
}

/// The replica's name becomes part of each series' key: resets are still seen a series at a time.
template<typename Reading>
void appendParts(Reading &target, const Reading &from, const std::string &replica)
{
    for (auto part : from.parts) {
        part.series = replica + part.series;
        target.parts.push_back(std::move(part));
    }
}

template<typename Reading>
void addTo(std::optional<Reading> &target, const std::optional<Reading> &from, const std::string &replica)
{
    if (!from)
        return;
    if (!target)
        target.emplace();
    appendParts(*target, *from, replica);
}

void addCounters(ServingSample &total, const ServingSample &one, const std::string &replica)
{
    addTo(total.prefixQueries, one.prefixQueries, replica);
    addTo(total.prefixHits, one.prefixHits, replica);
    addTo(total.promptTokens, one.promptTokens, replica);
    addTo(total.outputTokens, one.outputTokens, replica);
    addTo(total.steps, one.steps, replica);
    addTo(total.preemptions, one.preemptions, replica);
    addTo(total.errors, one.errors, replica);
    addTo(total.rejected, one.rejected, replica);
    for (const auto &[reason, reading] : one.finished)
        appendParts(total.finished[reason], reading, replica);
    addTo(total.ttft, one.ttft, replica);
    addTo(total.interToken, one.interToken, replica);
    addTo(total.timePerOutputToken, one.timePerOutputToken, replica);
    addTo(total.endToEnd, one.endToEnd, replica);
    addTo(total.queueTime, one.queueTime, replica);
}

void addIdentity(ServingSample &total, const ServingSample &one)
{
    total.time = std::max(total.time, one.time);
    if (total.product == ServingProduct::Unknown)
        total.product = one.product;
    total.engineCount += one.engineCount;
    total.modelNames.insert(total.modelNames.end(), one.modelNames.begin(), one.modelNames.end());
    for (const FieldSource &source : one.sources) {
        if (total.source(source.field) == nullptr)
            total.sources.push_back(source);
    }
    for (const ServingField field : one.announced) {
        if (std::find(total.announced.begin(), total.announced.end(), field) == total.announced.end())
            total.announced.push_back(field);
    }
}

} // namespace

ServingSample aggregate(const std::vector<NamedSample> &samples)
{
    ServingSample total;
    WeightedMean kvUse;
    WeightedMean slotsUse;
    WeightedMean prefixHitRatio;
    for (const auto &[name, one] : samples) {
        const double weight = std::max(1, one.engineCount);
        addTo(total.running, one.running);
        addTo(total.waiting, one.waiting);
        addTo(total.kvCapacityTokens, one.kvCapacityTokens);
        addTo(total.outputTokenRate, one.outputTokenRate);
        for (const auto &[reason, count] : one.waitingByReason)
            total.waitingByReason[reason] += count;
        kvUse.add(one.kvUse, weight);
        slotsUse.add(one.slotsUse, weight);
        prefixHitRatio.add(one.prefixHitRatio, weight);
        addCounters(total, one, name);
        addIdentity(total, one);
    }
    total.kvUse = kvUse.mean();
    total.slotsUse = slotsUse.mean();
    total.prefixHitRatio = prefixHitRatio.mean();
    auto &models = total.modelNames;
    std::sort(models.begin(), models.end());
    models.erase(std::unique(models.begin(), models.end()), models.end());
    return total;
}

} // namespace cluster
