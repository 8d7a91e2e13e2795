#pragma once

#include "cluster/local/kubelet/label_selector.h"
#include "cluster/local/metricsapi/api_failure.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// What a metric's own selector (not the one of pods) asks of its series, in PromQL.
struct SeriesFilter
{
    std::vector<std::string> matchers; ///< `model_name="m"`, `pod=~"a|b"`
    std::vector<SelectorRequirement> comparisons; ///< with `>` and `<`, which PromQL has no matchers for
    std::string reducer; ///< "REDUCE_SUM"; empty: each series by itself
    std::string project; ///< of another project's metric; empty: the cluster's own
    bool isEmpty = false; ///< nothing that is collected here can fit: another kind of resource

    /// The comparisons hold for a series with these labels.
    [[nodiscard]] bool accepts(const nlohmann::json &labels) const;
};

/// Custom metrics know labels of the metric and the reducer; external ones also those of the resource.
/// Errors: in the adapter's words, 400.
ApiResult<SeriesFilter> seriesFilter(const LabelSelector &selector, bool isExternal);

/// `label="value"`, or for several values `label=~"a|b"`. Values may be any text.
std::string equalMatcher(const std::string &label, const std::vector<std::string> &values);

/// A metav1.LabelSelector of it, as answers repeat it; null for one that selects all.
nlohmann::json labelSelectorObject(const LabelSelector &selector);

} // namespace cluster::local
