#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cluster {

struct HistogramBucket
{
    double upperBound = 0; ///< The label `le`; the last one is +infinity.
    double cumulative = 0; ///< Observations <= upperBound.
};

/// A cumulative histogram, or the increase of one between two scrapes.
struct Histogram
{
    std::vector<HistogramBucket> buckets; ///< Ascending bounds, read from the page, never assumed.
    double count = 0;
    double sum = 0; ///< In the unit of the metric.

    [[nodiscard]] bool isEmpty() const { return count <= 0; }
    [[nodiscard]] std::optional<double> mean() const;
};

/// One series of a histogram.
struct HistogramPart
{
    std::string series; ///< Labels without `le`, as text.
    Histogram histogram;
    std::optional<double> created; ///< Unix seconds, if the server says so.
};

struct HistogramReading
{
    std::vector<HistogramPart> parts;

    [[nodiscard]] Histogram merged() const;
};

/// A quantile and what the buckets leave open: the true value lies within [low, high].
struct Quantile
{
    double value = 0; ///< Linear within its bucket, as PromQL's histogram_quantile.
    double low = 0;
    double high
        = 0; ///< +infinity when the quantile is in the last bucket; value is then the last finite bound.
};

/// \param q  0 to 1.
/// Nothing for an empty histogram, one without buckets, or q outside of 0 to 1.
[[nodiscard]] std::optional<Quantile> quantile(const Histogram &histogram, double q);

/// Sum of two histograms. Where bounds differ only those in both are kept: nothing is invented.
[[nodiscard]] Histogram merge(const Histogram &left, const Histogram &right);

struct HistogramIncrease
{
    Histogram histogram; ///< May be empty: nothing was observed, so there is no percentile.
    bool wasReset = false;
};

/// What was observed between two scrapes; resets and new series as for counters (counter.h).
[[nodiscard]] std::optional<HistogramIncrease> increase(const HistogramReading &before,
                                                        const HistogramReading &after,
                                                        std::optional<double> beforeTime = std::nullopt);

} // namespace cluster
