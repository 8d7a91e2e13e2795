#include "engine/metrics/cache_config.h"

#include "engine/metrics/serving_families.h"
#include <algorithm>
#include <array>

namespace engine::exposition {

namespace {

std::string pythonBool(bool value)
{
    return value ? "True" : "False";
}

/// Largest block size up to the usual one that divides the cache, so that the product is exact.
std::int64_t blockSizeOf(std::int64_t tokens)
{
    std::int64_t size = blockTokens;
    while (size > 1 && tokens % size != 0)
        size /= 2;
    return size;
}

Labels labelsOf085(const ServerMetricsOptions &options, std::int64_t blockSize)
{
    return {{"block_size", std::to_string(blockSize)},
            {"cache_dtype", "auto"},
            {"calculate_kv_scales", "False"},
            {"cpu_offload_gb", "0"},
            {"enable_prefix_caching", pythonBool(options.prefixCaching)},
            {"engine", "0"},
            {"gpu_memory_utilization", "0.9"},
            {"is_attention_free", "False"},
            {"num_cpu_blocks", "None"},
            {"num_gpu_blocks", std::to_string(options.kvCacheTokens / blockSize)},
            {"num_gpu_blocks_override", "None"},
            {"prefix_caching_hash_algo", "builtin"},
            {"sliding_window", "None"},
            {"swap_space", "0"},
            {"swap_space_bytes", "0"}};
}

std::string concurrency(const ServerMetricsOptions &options)
{
    return options.maxModelLen > 0
        ? numberText(static_cast<double>(options.kvCacheTokens) / options.maxModelLen)
        : "None";
}

Labels labelsOf032(const ServerMetricsOptions &options, std::int64_t blockSize)
{
    constexpr std::array absent = {
        "cache_hit_alignment_tokens", "hash_block_size",       "kv_cache_layout",
        "kv_cache_memory_bytes",      "kv_offloading_backend", "kv_offloading_size",
        "mamba_block_size",           "mamba_cache_mode",      "mamba_page_size_padded",
        "mamba_ssm_cache_dtype",      "mamba_cache_dtype",     "num_cpu_blocks",
        "num_gpu_blocks_override",    "prefix_match_unit",     "replayssm_buffer_len",
        "skip_page_size_padded",      "sliding_window",        "gpu_memory_utilization",
        "prefix_caching_hash_algo",
    };
    constexpr std::array off = {"enable_mamba_shared_prefix_checkpoint",
                                "is_attention_free",
                                "kv_sharing_fast_prefill",
                                "swa_bounded_replay",
                                "use_kda_recoverssm",
                                "use_replayssm",
                                "user_specified_block_size"};
    Labels labels = {{"_block_size_resolved", "True"},
                     {"block_size", std::to_string(blockSize)},
                     {"cache_dtype", "auto"},
                     {"effective_attention_block_size", std::to_string(blockSize)},
                     {"enable_prefix_caching", pythonBool(options.prefixCaching)},
                     {"engine", "0"},
                     {"kv_cache_dtype_skip_layers", "[]"},
                     {"kv_cache_max_concurrency", concurrency(options)},
                     {"kv_cache_size_tokens", std::to_string(options.kvCacheTokens)},
                     {"num_gpu_blocks", std::to_string(options.kvCacheTokens / blockSize)},
                     {"prefix_cache_retention_interval", "0"}};
    for (const char *name : absent)
        labels.emplace_back(name, "None");
    for (const char *name : off)
        labels.emplace_back(name, "False");
    std::sort(labels.begin(), labels.end());
    return labels;
}

} // namespace

Labels cacheConfigLabels(const ServerMetricsOptions &options)
{
    const std::int64_t blockSize = blockSizeOf(options.kvCacheTokens);
    return options.dialect == ApiDialect::Newest ? labelsOf032(options, blockSize)
                                                 : labelsOf085(options, blockSize);
}

} // namespace engine::exposition
