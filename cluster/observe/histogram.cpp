#include "cluster/observe/histogram.h"

#include "cluster/observe/counter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cluster {

namespace {

bool haveSameBounds(const Histogram &left, const Histogram &right)
{
    return std::equal(left.buckets.begin(), left.buckets.end(), right.buckets.begin(), right.buckets.end(),
                      [](const auto &one, const auto &other) { return one.upperBound == other.upperBound; });
}

bool anyBucketFell(const Histogram &before, const Histogram &after)
{
    for (std::size_t i = 0; i < before.buckets.size(); ++i) {
        if (after.buckets[i].cumulative < before.buckets[i].cumulative)
            return true;
    }
    return false;
}

/// Other bounds mean another version of the server, so another process.
bool beganAgain(const HistogramPart &before, const HistogramPart &after)
{
    if (after.histogram.count < before.histogram.count || !haveSameBounds(before.histogram, after.histogram)
        || anyBucketFell(before.histogram, after.histogram)) {
        return true;
    }
    return before.created && after.created && *after.created > *before.created + createdToleranceSeconds;
}

Histogram difference(const Histogram &before, const Histogram &after)
{
    Histogram result = after;
    for (std::size_t i = 0; i < before.buckets.size(); ++i)
        result.buckets[i].cumulative -= before.buckets[i].cumulative;
    result.count -= before.count;
    result.sum -= before.sum;
    return result;
}

} // namespace

std::optional<double> Histogram::mean() const
{
    if (isEmpty() || !std::isfinite(sum))
        return std::nullopt;
    return sum / count;
}

Histogram HistogramReading::merged() const
{
    Histogram result;
    for (const HistogramPart &part : parts)
        result = result.buckets.empty() && result.count == 0 ? part.histogram : merge(result, part.histogram);
    return result;
}

Histogram merge(const Histogram &left, const Histogram &right)
{
    Histogram result;
    result.count = left.count + right.count;
    result.sum = left.sum + right.sum;
    auto other = right.buckets.begin();
    for (const HistogramBucket &bucket : left.buckets) {
        while (other != right.buckets.end() && other->upperBound < bucket.upperBound)
            ++other;
        if (other != right.buckets.end() && other->upperBound == bucket.upperBound)
            result.buckets.push_back({bucket.upperBound, bucket.cumulative + other->cumulative});
    }
    return result;
}

std::optional<Quantile> quantile(const Histogram &histogram, double q)
{
    const auto &buckets = histogram.buckets;
    if (buckets.empty() || !(q >= 0 && q <= 1) || !(buckets.back().cumulative > 0))
        return std::nullopt;
    const double rank = q * buckets.back().cumulative;
    const auto hit = std::find_if(buckets.begin(), buckets.end(), [rank](const HistogramBucket &bucket) {
        return bucket.cumulative > 0 && bucket.cumulative >= rank;
    });
    const bool isFirst = hit == buckets.begin();
    // Times and sizes are not negative: the first bucket reaches down to 0, unless its bound says otherwise.
    const double low = !isFirst ? std::prev(hit)->upperBound : std::min(0.0, hit->upperBound);
    const double below = isFirst ? 0 : std::prev(hit)->cumulative;
    if (std::isinf(hit->upperBound))
        return Quantile{low, low, std::numeric_limits<double>::infinity()};
    const double inBucket = hit->cumulative - below;
    const double share = inBucket > 0 ? std::max(0.0, rank - below) / inBucket : 1;
    return Quantile{low + (hit->upperBound - low) * share, low, hit->upperBound};
}

std::optional<HistogramIncrease> increase(const HistogramReading &before, const HistogramReading &after,
                                          std::optional<double> beforeTime)
{
    HistogramReading grown;
    bool wasReset = false;
    for (const HistogramPart &part : after.parts) {
        const auto old
            = std::find_if(before.parts.begin(), before.parts.end(),
                           [&part](const HistogramPart &one) { return one.series == part.series; });
        if (old == before.parts.end()) {
            if (beforeTime && part.created && *part.created >= *beforeTime)
                grown.parts.push_back(part);
            continue;
        }
        const bool isReset = beganAgain(*old, part);
        wasReset = wasReset || isReset;
        grown.parts.push_back({part.series,
                               isReset ? part.histogram : difference(old->histogram, part.histogram),
                               part.created});
    }
    if (grown.parts.empty())
        return std::nullopt;
    return HistogramIncrease{grown.merged(), wasReset};
}

} // namespace cluster
