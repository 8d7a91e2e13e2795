#include "engine/metrics/serving_families.h"

#include "engine/metrics/cache_config.h"
#include <algorithm>

namespace engine::exposition {

namespace {

const std::vector<double> ttftBounds
    = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560};
const std::vector<double> tokenGapBounds
    = {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
const std::vector<double> requestBounds
    = {.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
const std::vector<double> stepTokenBounds = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
const std::vector<double> choiceBounds = {1, 2, 5, 10, 20};
const std::vector<double> preemptionBounds = {1, 2, 3, 4, 5, 10, 20};
const std::vector<double> httpFineBounds
    = {.01, .025, .05, .075, .1, .25, .5, .75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60};
const std::vector<double> httpBounds = {.1, .5, 1};

} // namespace

std::vector<double> roundBounds(int limit)
{
    std::vector<double> bounds;
    for (double decade = 1;; decade *= 10) {
        for (const double digit : {1, 2, 5}) {
            if (digit * decade > limit)
                return bounds;
            bounds.push_back(digit * decade);
        }
    }
}

Labels ServingFamilies::engineLabelsAnd(const std::string &name, const std::string &value) const
{
    Labels labels = engineLabels;
    labels.emplace_back(name, value);
    std::sort(labels.begin(), labels.end());
    return labels;
}

Gauge *ServingFamilies::gauge(const char *name, const char *help)
{
    auto family = std::make_unique<Gauge>(name, help);
    Gauge *added = family.get();
    inOrder.push_back(std::move(family));
    return added;
}

Counter *ServingFamilies::counter(const char *name, const char *help)
{
    auto family = std::make_unique<Counter>(name, help);
    Counter *added = family.get();
    inOrder.push_back(std::move(family));
    return added;
}

Counter *ServingFamilies::engineCounter(const char *name, const char *help)
{
    Counter *added = counter(name, help);
    added->declare(engineLabels);
    return added;
}

Histogram *ServingFamilies::histogram(const char *name, const char *help, std::vector<double> bounds)
{
    auto family = std::make_unique<Histogram>(name, help, std::move(bounds));
    Histogram *added = family.get();
    inOrder.push_back(std::move(family));
    return added;
}

ServingFamilies::ServingFamilies(const ServerMetricsOptions &options)
    : engineLabels{{"engine", "0"}, {"model_name", options.modelName}}, modelLabels{{"model_name",
                                                                                     options.modelName}},
      m_isNewest(options.dialect == ApiDialect::Newest)
{
    if (m_isNewest) {
        engineCounter("vllm:estimated_flops_per_gpu",
                      "Estimated floating point operations of one GPU; not measured here.");
        engineCounter("vllm:estimated_read_bytes_per_gpu",
                      "Estimated bytes one GPU read from memory; not measured here.");
        engineCounter("vllm:estimated_write_bytes_per_gpu",
                      "Estimated bytes one GPU wrote to memory; not measured here.");
    }
    addLoad(options);
    addTokens();
    addFinished();
    addRequestSizes(options.maxModelLen);
    addLatencies();
    addRequestCosts(options.maxModelLen);
    addCacheConfig(options);
    addHttp();
    addToolCalls();
}

void ServingFamilies::addLoad(const ServerMetricsOptions &)
{
    running = gauge("vllm:num_requests_running", "Requests in the batch of the engine.");
    running->at(engineLabels) = 0;
    waiting = gauge("vllm:num_requests_waiting", "Requests in the queue of the engine.");
    waiting->at(engineLabels) = 0;
    if (!m_isNewest) {
        kvUse = gauge("vllm:gpu_cache_usage_perc",
                      "Share of the KV cache held by running requests; 1 is full.");
        kvUse->at(engineLabels) = 0;
        prefixQueries = engineCounter("vllm:gpu_prefix_cache_queries",
                                      "Whole prompt blocks looked up in the prefix cache.");
        prefixHits
            = engineCounter("vllm:gpu_prefix_cache_hits", "Whole prompt blocks found in the prefix cache.");
        return;
    }
    waitingByReason = gauge("vllm:num_requests_waiting_by_reason",
                            "Requests in the queue by why they wait; here always for capacity.");
    waitingByReason->at(engineLabelsAnd("reason", "capacity")) = 0;
    waitingByReason->at(engineLabelsAnd("reason", "deferred")) = 0;
    Gauge *sleep
        = gauge("vllm:engine_sleep_state", "1 for the state that the engine is in; it never sleeps.");
    sleep->at(engineLabelsAnd("sleep_state", "awake")) = 1;
    sleep->at(engineLabelsAnd("sleep_state", "weights_offloaded")) = 0;
    sleep->at(engineLabelsAnd("sleep_state", "discard_all")) = 0;
    kvUse = gauge("vllm:kv_cache_usage_perc", "Share of the KV cache held by running requests; 1 is full.");
    kvUse->at(engineLabels) = 0;
    prefixQueries
        = engineCounter("vllm:prefix_cache_queries", "Prompt tokens looked up in the prefix cache.");
    prefixHits = engineCounter("vllm:prefix_cache_hits", "Prompt tokens found in the prefix cache.");
    engineCounter("vllm:external_prefix_cache_queries",
                  "Prompt tokens looked up in other servers' caches; there are none.");
    engineCounter("vllm:external_prefix_cache_hits",
                  "Prompt tokens found in other servers' caches; there are none.");
    engineCounter("vllm:mm_cache_queries", "Images and the like looked up in their cache; there is none.");
    engineCounter("vllm:mm_cache_hits", "Images and the like found in their cache; there is none.");
}

void ServingFamilies::addTokens()
{
    preemptions = engineCounter("vllm:num_preemptions",
                                "Requests taken out of the batch because the KV cache was full.");
    promptTokens
        = engineCounter("vllm:prompt_tokens", "Prompt tokens of requests that reached their first token.");
    if (m_isNewest)
        addTokensBySource();
    generationTokens = engineCounter("vllm:generation_tokens", "Tokens generated.");
}

void ServingFamilies::addTokensBySource()
{
    promptTokensBySource
        = counter("vllm:prompt_tokens_by_source", "Prompt tokens by where their KV entries came from.");
    for (const char *source : {"local_compute", "local_cache_hit", "external_kv_transfer"})
        promptTokensBySource->declare(engineLabelsAnd("source", source));
    promptTokensCached
        = engineCounter("vllm:prompt_tokens_cached", "Prompt tokens that did not have to be computed.");
    promptTokensCachedBySource = counter("vllm:prompt_tokens_cached_by_source",
                                         "Prefix cache hits, in tokens, by the store that had them.");
    for (const char *source : {"device", "host", "p2p", "disk", "external_unspecified"})
        promptTokensCachedBySource->declare(engineLabelsAnd("source", source));
}

void ServingFamilies::addFinished()
{
    finished = counter("vllm:request_success", "Requests that ended, by why.");
    for (const char *reason : {"stop", "length", "abort"})
        finished->declare(engineLabelsAnd("finished_reason", reason));
    if (!m_isNewest)
        return;
    for (const char *reason : {"error", "repetition"})
        finished->declare(engineLabelsAnd("finished_reason", reason));
    rejections = counter("vllm:admission_rejections",
                         "Requests turned away because the queue was full, by the limit.");
    for (const char *reason : {"max_num_queued_reqs", "max_num_queued_tokens"})
        rejections->declare({{"model_name", modelLabels.front().second}, {"reason", reason}});
}

void ServingFamilies::addRequestSizes(int maxModelLen)
{
    const std::vector<double> bounds = roundBounds(maxModelLen);
    requestPromptTokens = histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", bounds);
    requestGenerationTokens
        = histogram("vllm:request_generation_tokens", "Tokens generated for a request.", bounds);
    iterationTokens
        = histogram("vllm:iteration_tokens_total", "Tokens of one step of the engine.", stepTokenBounds);
    requestLongestGeneration = histogram("vllm:request_max_num_generation_tokens",
                                         "Tokens of the longest choice of a request.", bounds);
    requestN = histogram("vllm:request_params_n", "Choices asked for (n).", choiceBounds);
    requestMaxTokens = histogram("vllm:request_params_max_tokens", "Tokens allowed (max_tokens).", bounds);
    for (Histogram *one : {requestPromptTokens, requestGenerationTokens, iterationTokens,
                           requestLongestGeneration, requestN, requestMaxTokens})
        one->declare(engineLabels);
}

void ServingFamilies::addLatencies()
{
    ttft = histogram("vllm:time_to_first_token_seconds", "From the request's arrival to its first token.",
                     ttftBounds);
    interToken
        = histogram(m_isNewest ? "vllm:inter_token_latency_seconds" : "vllm:time_per_output_token_seconds",
                    "Between a token and the next one of the same choice.", tokenGapBounds);
    if (m_isNewest) {
        requestTimePerOutputToken
            = histogram("vllm:request_time_per_output_token_seconds",
                        "Mean time of a token after the first one, for a request.", tokenGapBounds);
        requestTimePerOutputToken->declare(engineLabels);
    }
    endToEnd = histogram("vllm:e2e_request_latency_seconds", "From the request's arrival to its last token.",
                         requestBounds);
    queueTime = histogram("vllm:request_queue_time_seconds", "From the queue to the batch.", requestBounds);
    inferenceTime = histogram("vllm:request_inference_time_seconds", "From the batch to the last token.",
                              requestBounds);
    prefillTime
        = histogram("vllm:request_prefill_time_seconds", "From the batch to the first token.", requestBounds);
    decodeTime = histogram("vllm:request_decode_time_seconds", "From the first token to the last one.",
                           requestBounds);
    for (Histogram *one : {ttft, interToken, endToEnd, queueTime, inferenceTime, prefillTime, decodeTime})
        one->declare(engineLabels);
}

void ServingFamilies::addRequestCosts(int maxModelLen)
{
    if (!m_isNewest)
        return;
    requestPreemptions = histogram("vllm:request_num_preemptions",
                                   "How often a request was taken out of the batch.", preemptionBounds);
    requestPreemptions->declare(engineLabels);
    requestComputedTokens
        = histogram("vllm:request_prefill_kv_computed_tokens",
                    "Prompt tokens of a request that were computed, not found.", roundBounds(maxModelLen));
    requestComputedTokens->declare(engineLabels);
}

void ServingFamilies::addCacheConfig(const ServerMetricsOptions &options)
{
    gauge("vllm:cache_config_info", "Settings of the KV cache, as labels.")->at(cacheConfigLabels(options))
        = 1;
}

void ServingFamilies::addHttp()
{
    httpRequests = counter("http_requests", "HTTP requests by route, method and kind of status.");
    auto requestBytes
        = std::make_unique<Summary>("http_request_size_bytes", "Sizes of request bodies by route, bytes.");
    auto responseBytes
        = std::make_unique<Summary>("http_response_size_bytes", "Sizes of response bodies by route, bytes.");
    httpRequestBytes = requestBytes.get();
    httpResponseBytes = responseBytes.get();
    inOrder.push_back(std::move(requestBytes));
    inOrder.push_back(std::move(responseBytes));
    httpDurationFine = histogram("http_request_duration_highr_seconds", "Time of an HTTP request, finely.",
                                 httpFineBounds);
    httpDurationFine->declare({});
    httpDuration = histogram("http_request_duration_seconds", "Time of an HTTP request by route and method.",
                             httpBounds);
}

void ServingFamilies::addToolCalls()
{
    if (!m_isNewest)
        return;
    toolCalls
        = counter("vllm:tool_call_parser_invocations", "Runs of the tool call parser, by what they found.");
    for (const char *mode : {"streaming", "non_streaming"}) {
        for (const char *outcome : {"tool_call", "no_tool_call"}) {
            for (const char *type : {"chat_completions", "responses", "other"})
                toolCalls->declare({{"mode", mode},
                                    {"model_name", modelLabels.front().second},
                                    {"outcome", outcome},
                                    {"request_type", type}});
        }
    }
}

} // namespace engine::exposition
