#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cluster {

/// Sorted by name, so that two sets are equal however the server ordered them.
using LabelSet = std::vector<std::pair<std::string, std::string>>;

/// The value of a label, or nothing. An absent label and an empty one are the same thing to Prometheus, not
/// here.
[[nodiscard]] std::optional<std::string_view> labelValue(const LabelSet &labels, std::string_view name);

/// `{a="1",b="x"}` with escapes, or an empty string: a key for the series and a text for a person.
[[nodiscard]] std::string labelText(const LabelSet &labels);

enum class MetricType { Unknown, Counter, Gauge, Histogram, GaugeHistogram, Summary, Info, StateSet };

struct MetricFamily
{
    std::string name; ///< As in the TYPE or HELP line.
    MetricType type = MetricType::Unknown;
    std::string help;
    std::string unit;
};

struct MetricPoint
{
    std::string name; ///< As on the wire, with its suffix (_total, _bucket).
    LabelSet labels;
    double value = 0; ///< NaN and infinities as the server wrote them.
    std::optional<double> timestamp; ///< Unix time in seconds, whatever the format's unit.
};

struct PageProblem
{
    int line = 0; ///< From 1.
    std::string message;
};

/// One scraped page.
struct MetricPage
{
    std::vector<MetricFamily> families; ///< In the order of the page, each name once.
    std::vector<MetricPoint> points; ///< In the order of the page.
    std::vector<PageProblem> problems; ///< Lines that were skipped, with the reason. At most 100 are kept.
    bool isOpenMetrics = false; ///< The page ended with "# EOF".

    /// Indices into `points` of all series with this name. Empty: the server does not export it.
    [[nodiscard]] const std::vector<std::size_t> &find(std::string_view name) const;
    [[nodiscard]] const MetricFamily *family(std::string_view name) const;

    std::unordered_map<std::string, std::vector<std::size_t>> index; ///< Filled by the parser.
};

/// Reads Prometheus text format 0.0.4 and 1.0.0, and OpenMetrics 1.0, all from one grammar.
///
/// Errors:  never fails as a whole. A line that cannot be read is named in `problems`, and the next one is
/// read:
///          half a page is worth more than none.
/// Source:  prometheus.io/docs/instrumenting/exposition_formats; recorded pages of vLLM 0.8.5, 0.32 and
/// Ray 2.60.
[[nodiscard]] MetricPage parsePrometheusText(std::string_view text);

} // namespace cluster
