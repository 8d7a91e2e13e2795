#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

using MetricTime = std::chrono::system_clock::time_point;

/// `name op "value"` of a selector; the metric's own name is the label __name__.
struct LabelMatcher
{
    enum class Op { Equal, NotEqual, Matches, NotMatches };
    std::string label;
    Op op = Op::Equal;
    std::string value;

    /// Against a label's value; a missing label has the empty one. Patterns match all of it.
    [[nodiscard]] bool fits(const std::string &text) const;
};

struct MetricSeries
{
    std::map<std::string, std::string> labels; ///< with __name__
    std::vector<std::pair<MetricTime, double>> points; ///< by time
};

/// Who has the samples that Managed Prometheus collects in a cluster. Any thread.
class MetricSource
{
public:
    virtual ~MetricSource() = default;
    /// All series that fit, with their samples from `from` to `to`, both included.
    virtual std::vector<MetricSeries> select(const std::vector<LabelMatcher> &matchers, MetricTime from,
                                             MetricTime to) const = 0;
};

} // namespace cluster::local
