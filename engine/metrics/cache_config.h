#pragma once

#include "engine/metrics/metric_families.h"
#include "engine/metrics/server_metrics.h"

namespace engine::exposition {

/// Labels of vllm:cache_config_info in the options' dialect: block_size times num_gpu_blocks is the cache's
/// size, and settings that our engine does not have say so ("None", "False").
[[nodiscard]] Labels cacheConfigLabels(const ServerMetricsOptions &options);

} // namespace engine::exposition
