#pragma once

#include "engine/metrics/metric_families.h"

namespace engine::exposition {

/// The process_* families of this process (the front), read from /proc now. What cannot be read is left out,
/// as the Prometheus client of Python does.
void writeProcessMetrics(Page &page);

} // namespace engine::exposition
