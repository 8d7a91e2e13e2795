#pragma once

#include "cluster/observe/prometheus_text.h"
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace cluster::detail {

/// One line with a value, `name{labels} value [timestamp] [# exemplar]`, without blanks before it and without
/// its end. The timestamp keeps the unit of the page; an exemplar is checked for nothing and dropped. Error:
/// what is wrong.
[[nodiscard]] tl::expected<MetricPoint, std::string> parsePoint(std::string_view line);

/// A number as the text formats write it, "+Inf" and "NaN" included; nothing if there is anything else in the
/// text.
[[nodiscard]] std::optional<double> parseMetricNumber(std::string_view text);

} // namespace cluster::detail
