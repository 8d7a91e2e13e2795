#include "cluster/observe/serving_names.h"

#include <algorithm>
#include <array>

namespace cluster {

namespace detail {

namespace {

using enum ServingField;
using enum ServingProduct;

constexpr std::string_view newKvName = "called vllm:gpu_cache_usage_perc before vLLM 0.9";
constexpr std::string_view oldKvName = "renamed vllm:kv_cache_usage_perc in vLLM 0.9";
constexpr std::string_view newPrefixName
    = "called vllm:gpu_prefix_cache_… and counted in blocks before vLLM 0.9";
constexpr std::string_view oldPrefixName = "renamed vllm:prefix_cache_… in vLLM 0.9; counted in blocks";
constexpr std::string_view newGapName = "called vllm:time_per_output_token_seconds before vLLM 0.11";
constexpr std::string_view oldGapName = "renamed vllm:inter_token_latency_seconds in vLLM 0.11";
constexpr std::string_view oldSglangGap = "renamed sglang:inter_token_latency_seconds in newer SGLang";

constexpr std::array candidates = {
    NameCandidate{Running, Vllm, "vllm:num_requests_running", ""},
    NameCandidate{Running, Sglang, "sglang:num_running_reqs", ""},
    NameCandidate{Running, Tgi, "tgi_batch_current_size", ""},
    NameCandidate{Running, LlamaCpp, "llamacpp:requests_processing", ""},

    NameCandidate{Waiting, Vllm, "vllm:num_requests_waiting", ""},
    NameCandidate{Waiting, Sglang, "sglang:num_queue_reqs", ""},
    NameCandidate{Waiting, Tgi, "tgi_queue_size", ""},
    NameCandidate{Waiting, LlamaCpp, "llamacpp:requests_deferred", ""},
    NameCandidate{Waiting, JetStream, "jetstream_prefill_backlog_size", ""},
    NameCandidate{Waiting, JetStream, "num_requests_waiting", ""},

    NameCandidate{KvUse, Vllm, "vllm:kv_cache_usage_perc", newKvName},
    NameCandidate{KvUse, Vllm, "vllm:gpu_cache_usage_perc", oldKvName},
    NameCandidate{KvUse, Sglang, "sglang:token_usage", ""},
    NameCandidate{KvUse, JetStream, "kv_cache_utilization_perc", ""},
    NameCandidate{KvUse, LlamaCpp, "llamacpp:kv_cache_usage_ratio",
                  "only in builds of llama.cpp before 2026"},

    NameCandidate{KvCapacity, Vllm, "vllm:cache_config_info", ""},

    NameCandidate{PrefixQueries, Vllm, "vllm:prefix_cache_queries_total", newPrefixName},
    NameCandidate{PrefixQueries, Vllm, "vllm:gpu_prefix_cache_queries_total", oldPrefixName},
    NameCandidate{PrefixHits, Vllm, "vllm:prefix_cache_hits_total", newPrefixName},
    NameCandidate{PrefixHits, Vllm, "vllm:gpu_prefix_cache_hits_total", oldPrefixName},
    NameCandidate{PrefixHits, LlamaCpp, "llamacpp:prompt_tokens_cached_total", ""},
    NameCandidate{PrefixHitRatio, Vllm, "vllm:gpu_prefix_cache_hit_rate", ""},
    NameCandidate{PrefixHitRatio, Sglang, "sglang:cache_hit_rate", ""},

    NameCandidate{PromptTokens, Vllm, "vllm:prompt_tokens_total", ""},
    NameCandidate{PromptTokens, Sglang, "sglang:prompt_tokens_total", ""},
    NameCandidate{PromptTokens, LlamaCpp, "llamacpp:prompt_tokens_total", ""},
    NameCandidate{PromptTokens, Tgi, "tgi_request_input_length_sum", ""},
    NameCandidate{PromptTokens, JetStream, "jetstream_request_input_length_sum", ""},

    NameCandidate{OutputTokens, Vllm, "vllm:generation_tokens_total", ""},
    NameCandidate{OutputTokens, Sglang, "sglang:generation_tokens_total", ""},
    NameCandidate{OutputTokens, LlamaCpp, "llamacpp:tokens_predicted_total", ""},
    NameCandidate{OutputTokens, Tgi, "tgi_request_generated_tokens_sum", ""},
    NameCandidate{OutputTokens, JetStream, "jetstream_request_output_length_sum", ""},
    NameCandidate{OutputTokenRate, Sglang, "sglang:gen_throughput", ""},

    NameCandidate{Ttft, Vllm, "vllm:time_to_first_token_seconds", ""},
    NameCandidate{Ttft, Sglang, "sglang:time_to_first_token_seconds", ""},
    NameCandidate{Ttft, JetStream, "jetstream_time_to_first_token", ""},

    NameCandidate{InterToken, Vllm, "vllm:inter_token_latency_seconds", newGapName},
    NameCandidate{InterToken, Vllm, "vllm:time_per_output_token_seconds", oldGapName},
    NameCandidate{InterToken, Sglang, "sglang:inter_token_latency_seconds", ""},
    NameCandidate{InterToken, Sglang, "sglang:time_per_output_token_seconds", oldSglangGap},
    NameCandidate{TimePerOutputToken, Vllm, "vllm:request_time_per_output_token_seconds", ""},
    NameCandidate{TimePerOutputToken, Tgi, "tgi_request_mean_time_per_token_duration", ""},
    NameCandidate{TimePerOutputToken, JetStream, "jetstream_time_per_output_token", ""},

    NameCandidate{EndToEnd, Vllm, "vllm:e2e_request_latency_seconds", ""},
    NameCandidate{EndToEnd, Sglang, "sglang:e2e_request_latency_seconds", ""},
    NameCandidate{EndToEnd, Tgi, "tgi_request_duration", ""},
    NameCandidate{EndToEnd, JetStream, "jetstream_time_per_request", ""},
    NameCandidate{QueueTime, Vllm, "vllm:request_queue_time_seconds", ""},
    NameCandidate{QueueTime, Tgi, "tgi_request_queue_duration", ""},
    NameCandidate{QueueTime, JetStream, "jetstream_queue_duration", ""},

    NameCandidate{Steps, Vllm, "vllm:iteration_tokens_total_count", ""},
    NameCandidate{Steps, LlamaCpp, "llamacpp:n_decode_total", ""},
    NameCandidate{Steps, Tgi, "tgi_batch_inference_count", ""},
    NameCandidate{Preemptions, Vllm, "vllm:num_preemptions_total", ""},
    NameCandidate{Finished, Vllm, "vllm:request_success_total", ""},
    NameCandidate{Finished, Sglang, "sglang:num_requests_total", ""},
    NameCandidate{Finished, Tgi, "tgi_request_success", ""},
    NameCandidate{Finished, JetStream, "jetstream_request_success_count", ""},
    NameCandidate{Errors, Vllm, "http_requests_total", ""},
    NameCandidate{Errors, RayServeVllm, "ray_serve_num_http_error_requests", ""},
    NameCandidate{Errors, Tgi, "tgi_request_failure", ""},
    NameCandidate{Rejected, Vllm, "vllm:admission_rejections_total", ""},
};

} // namespace

std::span<const NameCandidate> nameCandidates()
{
    return candidates;
}

std::string canonicalName(std::string_view name)
{
    constexpr std::string_view rayPrefix = "ray_";
    constexpr std::string_view counterSuffix = "_total";
    if (name.starts_with(rayPrefix))
        name.remove_prefix(rayPrefix.size());
    if (name.ends_with(counterSuffix))
        name.remove_suffix(counterSuffix.size());
    std::string canonical(name);
    std::replace(canonical.begin(), canonical.end(), ':', '_');
    return canonical;
}

} // namespace detail

std::string_view fieldName(ServingField field)
{
    switch (field) {
    case ServingField::Running:
        return "requests running";
    case ServingField::Waiting:
        return "requests waiting";
    case ServingField::KvUse:
        return "KV cache use";
    case ServingField::KvCapacity:
        return "KV cache capacity";
    case ServingField::PrefixQueries:
        return "prefix cache queries";
    case ServingField::PrefixHits:
        return "prefix cache hits";
    case ServingField::PrefixHitRatio:
        return "prefix cache hit ratio";
    case ServingField::PromptTokens:
        return "prompt tokens";
    case ServingField::OutputTokens:
        return "output tokens";
    case ServingField::OutputTokenRate:
        return "output token rate";
    case ServingField::Ttft:
        return "time to first token";
    case ServingField::InterToken:
        return "time between tokens";
    case ServingField::TimePerOutputToken:
        return "time per output token";
    case ServingField::EndToEnd:
        return "time of a whole request";
    case ServingField::QueueTime:
        return "time in the queue";
    case ServingField::Steps:
        return "engine steps";
    case ServingField::Preemptions:
        return "preemptions";
    case ServingField::Finished:
        return "finished requests";
    case ServingField::Errors:
        return "errors";
    case ServingField::Rejected:
        return "rejected requests";
    }
    return "";
}

std::string_view productName(ServingProduct product)
{
    switch (product) {
    case ServingProduct::Unknown:
        return "unknown server";
    case ServingProduct::Vllm:
        return "vLLM";
    case ServingProduct::RayServeVllm:
        return "Ray Serve with vLLM";
    case ServingProduct::Sglang:
        return "SGLang";
    case ServingProduct::Tgi:
        return "TGI";
    case ServingProduct::LlamaCpp:
        return "llama.cpp";
    case ServingProduct::JetStream:
        return "JetStream";
    }
    return "";
}

} // namespace cluster
