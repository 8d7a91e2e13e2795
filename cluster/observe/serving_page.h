#pragma once

#include "cluster/observe/serving_names.h"
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::detail {

/// A page seen through canonical names: answers what the series of one metric are, in any spelling.
class ServingPage
{
public:
    explicit ServingPage(const MetricPage &page);

    /// The wire name for a name of the table; empty: not on the page. Of `x` and `x_total`, or `vllm:x` and
    /// `ray_vllm_x`, only one is taken: they are the same thing twice.
    [[nodiscard]] std::string wireName(std::string_view name) const;
    [[nodiscard]] std::string
    histogramWireName(std::string_view name) const; ///< Base name, if it has buckets or a count.
    [[nodiscard]] bool isAnnounced(std::string_view name) const; ///< Has a HELP or TYPE line.

    /// Series of exactly this wire name; of two lines with equal labels the last one counts.
    [[nodiscard]] std::vector<const MetricPoint *> series(const std::string &wireName) const;

    /// Values by series; labels in `without` do not tell series apart, values that fall together are added
    /// up.
    [[nodiscard]] CounterReading counter(const std::string &wireName,
                                         std::initializer_list<std::string_view> without = {}) const;
    [[nodiscard]] HistogramReading histogram(const std::string &base) const;

private:
    [[nodiscard]] std::map<std::string, double> createdOf(std::string_view wireName) const;

    const MetricPage &m_page;
    std::map<std::string, std::vector<std::string>, std::less<>> m_names; ///< Canonical to wire, best first.
};

/// The labels without some, as text.
[[nodiscard]] std::string seriesKey(const LabelSet &labels, std::initializer_list<std::string_view> without);

} // namespace cluster::detail
