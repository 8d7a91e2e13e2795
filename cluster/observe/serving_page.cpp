#include "cluster/observe/serving_page.h"

#include "cluster/observe/prometheus_line.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace cluster::detail {

namespace {

/// Less is better: the product's own spelling before Ray's, a counter with its suffix before one without.
int rankOf(const std::string &wireName)
{
    return (wireName.starts_with("ray_") ? 2 : 0) + (wireName.ends_with("_total") ? 0 : 1);
}

/// A cumulative histogram whose last bucket is +Inf and whose counts do not fall, whatever the page had.
void complete(Histogram &histogram)
{
    auto &buckets = histogram.buckets;
    std::sort(buckets.begin(), buckets.end(),
              [](const auto &left, const auto &right) { return left.upperBound < right.upperBound; });
    double highest = 0;
    for (HistogramBucket &bucket : buckets)
        highest = bucket.cumulative = std::max(highest, bucket.cumulative);
    if (!buckets.empty() && !std::isinf(buckets.back().upperBound))
        buckets.push_back({std::numeric_limits<double>::infinity(), std::max(highest, histogram.count)});
    if (histogram.count == 0 && !buckets.empty())
        histogram.count = buckets.back().cumulative;
}

} // namespace

std::string seriesKey(const LabelSet &labels, std::initializer_list<std::string_view> without)
{
    LabelSet kept;
    std::copy_if(labels.begin(), labels.end(), std::back_inserter(kept), [without](const auto &label) {
        return std::find(without.begin(), without.end(), label.first) == without.end();
    });
    return labelText(kept);
}

ServingPage::ServingPage(const MetricPage &page) : m_page(page)
{
    for (const auto &[name, points] : page.index)
        m_names[canonicalName(name)].push_back(name);
    for (auto &[canonical, names] : m_names) {
        std::sort(names.begin(), names.end(), [](const std::string &left, const std::string &right) {
            return std::pair(rankOf(left), left) < std::pair(rankOf(right), right);
        });
    }
}

std::string ServingPage::wireName(std::string_view name) const
{
    const auto found = m_names.find(canonicalName(name));
    return found == m_names.end() ? std::string() : found->second.front();
}

std::string ServingPage::histogramWireName(std::string_view name) const
{
    for (const std::string_view suffix : {"_bucket", "_count"}) {
        const std::string found = wireName(std::string(name) + std::string(suffix));
        if (!found.empty())
            return found.substr(0, found.size() - suffix.size());
    }
    return {};
}

bool ServingPage::isAnnounced(std::string_view name) const
{
    const std::string canonical = canonicalName(name);
    return std::any_of(m_page.families.begin(), m_page.families.end(), [&canonical](const MetricFamily &one) {
        return canonicalName(one.name) == canonical;
    });
}

std::vector<const MetricPoint *> ServingPage::series(const std::string &wireName) const
{
    std::vector<const MetricPoint *> points;
    std::unordered_map<std::string, std::size_t> places;
    for (const std::size_t i : m_page.find(wireName)) {
        const MetricPoint &point = m_page.points[i];
        const auto [place, isNew] = places.try_emplace(labelText(point.labels), points.size());
        if (isNew)
            points.push_back(&point);
        else
            points[place->second] = &point;
    }
    return points;
}

std::map<std::string, double> ServingPage::createdOf(std::string_view wireName) const
{
    if (wireName.ends_with("_total") && m_page.find(std::string(wireName) + "_created").empty())
        wireName.remove_suffix(std::string_view("_total").size());
    std::map<std::string, double> created;
    for (const MetricPoint *point : series(std::string(wireName) + "_created"))
        created[labelText(point->labels)] = point->value;
    return created;
}

CounterReading ServingPage::counter(const std::string &wireName,
                                    std::initializer_list<std::string_view> without) const
{
    const auto created = createdOf(wireName);
    std::map<std::string, CounterPart> parts;
    for (const MetricPoint *point : series(wireName)) {
        CounterPart &part = parts[seriesKey(point->labels, without)];
        part.value += point->value;
        // Where several series fall together each has its own beginning, so none of them is that of the sum.
        const auto began = created.find(labelText(point->labels));
        if (without.size() == 0 && began != created.end())
            part.created = began->second;
    }
    CounterReading reading;
    for (auto &[key, part] : parts)
        reading.parts.push_back({key, part.value, part.created});
    return reading;
}

HistogramReading ServingPage::histogram(const std::string &base) const
{
    const auto created = createdOf(base);
    std::map<std::string, HistogramPart> parts;
    for (const MetricPoint *point : series(base + "_bucket")) {
        const auto bound = labelValue(point->labels, "le");
        const auto upper = bound ? parseMetricNumber(*bound) : std::nullopt;
        if (upper && !std::isnan(*upper) && std::isfinite(point->value))
            parts[seriesKey(point->labels, {"le"})].histogram.buckets.push_back({*upper, point->value});
    }
    for (const MetricPoint *point : series(base + "_count"))
        parts[labelText(point->labels)].histogram.count = point->value;
    for (const MetricPoint *point : series(base + "_sum"))
        parts[labelText(point->labels)].histogram.sum = point->value;
    HistogramReading reading;
    for (auto &[key, part] : parts) {
        part.series = key;
        const auto began = created.find(key);
        if (began != created.end())
            part.created = began->second;
        complete(part.histogram);
        reading.parts.push_back(std::move(part));
    }
    return reading;
}

} // namespace cluster::detail
