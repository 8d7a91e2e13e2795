#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

/// The newest value of one series, as Prometheus's `query` answers it.
struct MetricSample
{
    nlohmann::json labels; ///< an object of strings
    std::int64_t thousandths = 0; ///< of the value, the rest cut off as the adapter does it
};

/// An instant vector. Values that are no numbers (NaN, Inf) are left out. DataLoss: it is none.
Result<std::vector<MetricSample>> metricSamples(std::string_view body);

/// The types that Prometheus's `metadata` has for one metric: "gauge", … DataLoss: it is no such answer.
Result<std::vector<std::string>> metricTypes(std::string_view body, const std::string &name);

/// What Google's side, or Prometheus, says of an error: {"error": {"message": …}} or {"error": "…"}; else the
/// beginning of the text.
std::string errorText(std::string_view body);

/// A Kubernetes quantity in its canonical form (DecimalSI): "12", "1500m", "3k".
std::string quantityText(std::int64_t thousandths);

} // namespace cluster::local
