#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What the front (HTTP) and the runner (libllama) tell each other: plain values, no I/O, no JSON.
namespace engine {

using TokenId = std::int32_t;
using RequestId = std::uint64_t; ///< Given by the front; never used again within the life of a front.
using Seconds = std::chrono::duration<double>;

/// How the next token is chosen and when to stop. Names and meanings are vLLM's SamplingParams.
struct SamplingParams
{
    int maxTokens = 16; ///< >= 1; the front has already clipped it to the context.
    int minTokens = 0; ///< No end token and no stop before so many output tokens.
    double temperature = 1.0; ///< Below 1e-5: greedy.
    double topP = 1.0;
    int topK = 0; ///< <= 0: off.
    double minP = 0.0;
    double presencePenalty = 0.0; ///< Over output tokens only.
    double frequencyPenalty = 0.0; ///< Over output tokens only.
    double repetitionPenalty = 1.0; ///< Over prompt and output tokens.
    std::optional<std::int64_t> seed;
    std::vector<std::string> stop;
    std::vector<TokenId> stopTokenIds;
    bool includeStopInOutput = false;
    bool ignoreEos = false;
    std::vector<std::pair<TokenId, float>> logitBias;
    std::vector<TokenId> allowedTokenIds; ///< Empty: all.
    std::vector<std::string> badWords;
    int logprobs
        = -1; ///< -1: none; k: the sampled token and the k best (raw model log-probabilities, as vLLM V1).
    int promptLogprobs = -1; ///< Likewise for prompt tokens; turns the prefix cache off for the request.
    bool skipSpecialTokens = true;
    std::string grammar; ///< GBNF with the rule `root`; empty: free text.
};

struct GenerateRequest
{
    RequestId id = 0;
    std::vector<TokenId> prompt; ///< Not empty, all within the vocabulary, shorter than the context.
    SamplingParams sampling;
    int priority = 0; ///< Lower is earlier, as in vLLM; equal ones first come, first served.
    std::string cacheSalt; ///< Prefixes are shared only between equal salts.
};

struct Logprob
{
    TokenId token = 0;
    float logprob = 0; ///< Natural logarithm; -inf is possible (the edge writes -9999.0).
    int rank = 0; ///< 1 is the most likely token.
    std::string piece; ///< The token's bytes, not necessarily whole UTF-8.
};

struct TokenOutput
{
    TokenId token = 0;
    std::string piece; ///< The token's bytes, not necessarily whole UTF-8.
    std::optional<Logprob> logprob; ///< Only if asked for.
    std::vector<Logprob> top; ///< The k best, best first; only if asked for.
};

enum class FinishReason { Stop, Length, Abort };

/// Moments in the life of a request on CLOCK_MONOTONIC, which front and runner share (one host).
struct RequestTimes
{
    Seconds queued{}; ///< The runner got it.
    Seconds scheduled{}; ///< First in a batch.
    Seconds firstToken{};
    Seconds lastToken{};
};

struct Finish
{
    FinishReason reason = FinishReason::Stop;
    std::optional<std::string> stopString; ///< The one that matched.
    std::optional<TokenId> stopToken; ///< From stopTokenIds; not set for the model's own end token.
};

/// One step of one request. Zero or more tokens, and the text that is safe to show: whole UTF-8, nothing that
/// may yet turn out to be the start of a stop string. The texts of all events together are the answer.
struct GenerationEvent
{
    RequestId id = 0;
    std::string text;
    std::vector<TokenOutput> tokens;
    std::vector<TokenOutput> promptTokens; ///< In the first event, if promptLogprobs was asked for.
    int cachedPromptTokens = 0; ///< In the first event: how much of the prompt came from the prefix cache.
    int preemptions = 0; ///< So far: how often it lost its place in the KV cache and was computed anew.
    std::optional<Finish> finish; ///< Set in the last event.
    RequestTimes times; ///< As far as known.
};

/// A failure of one request. After it there is no further event for the id. code: google.rpc meaning in
/// words, "invalid_argument" (the caller's fault, 400), "unavailable" (runner lost, 503), "internal" (500).
struct RequestFailure
{
    RequestId id = 0;
    std::string code;
    std::string message;
};

/// A chat to be turned into a prompt by llama.cpp's Jinja templates. The JSON texts are as the client sent
/// them.
struct ChatPromptRequest
{
    std::string messagesJson; ///< OpenAI message array.
    std::string toolsJson; ///< OpenAI tool array, or empty.
    std::string chatTemplate; ///< Override for this request, or empty.
    std::string templateKwargsJson; ///< Object, or empty.
    bool addGenerationPrompt = true;
    bool continueFinalMessage = false;
    bool addSpecialTokens = false;
};

struct TextPromptRequest
{
    std::string text;
    bool addSpecialTokens = true;
    bool parseSpecialTokens = true; ///< Control tokens written in the text become tokens.
};

struct Prompt
{
    std::string text; ///< After the template.
    std::vector<TokenId> tokens;
    std::vector<std::string> pieces; ///< Text of each token, for return_token_strs; filled on request only.
};

/// Exactly one of the fields is set.
struct GrammarRequest
{
    std::string jsonSchema; ///< JSON text of a schema.
    std::string gbnf;
    std::string regex;
    std::vector<std::string> choices;
    bool anyJsonObject = false;
};

struct EmbeddingRequest
{
    RequestId id = 0;
    std::vector<TokenId> tokens;
};

/// What is known of a loaded model.
struct ModelFacts
{
    std::string architecture;
    int vocabularySize = 0;
    int trainedContext = 0; ///< Tokens.
    int layerCount = 0;
    int headCount = 0;
    int kvHeadCount = 0;
    int embeddingSize = 0;
    std::int64_t parameterCount = 0;
    std::int64_t sizeBytes = 0;
    bool hasChatTemplate = false;
    std::string chatTemplate; ///< Jinja source in force.
    bool isEmbeddingModel = false; ///< Has a pooling layer: /v1/embeddings, no generation.
    TokenId bosToken = -1;
    TokenId eosToken = -1;
    bool addsBos = false;
    int maxModelLen = 0; ///< In force: prompt and output together, tokens.
    std::int64_t kvCacheTokens = 0; ///< Size of the KV pool, tokens.
    std::string device; ///< Measured, not configured: where the weights are, e.g. "CPU" or "RPC0, RPC1".
};

/// Counters since the runner started, and gauges. Units are tokens unless said otherwise.
struct RunnerStats
{
    int running = 0; ///< Requests in the batch.
    int waiting = 0; ///< Requests in the queue.
    std::int64_t kvUsedTokens
        = 0; ///< Held by running requests; what only the cache holds counts as free, as in vLLM.
    std::int64_t kvTotalTokens = 0;
    std::int64_t prefixQueries = 0;
    std::int64_t prefixHits = 0;
    std::int64_t preemptions = 0; ///< Count.
    std::vector<int> stepTokens; ///< Tokens of each step since the last message.
};

/// What the runner is to load and how.
struct RunnerOptions
{
    std::string modelPath;
    std::string chatTemplate; ///< Jinja source that replaces the model's; empty: the model's own.
    int maxModelLen = 0; ///< 0: the model's trained context.
    int maxNumSeqs = 32; ///< Running requests; 1 to 128.
    int maxNumBatchedTokens = 256; ///< Token budget of one step.
    std::int64_t kvCacheTokens = 0; ///< 0: chosen from maxModelLen and maxNumSeqs.
    int threads = 0; ///< 0: the free cores.
    bool prefixCaching = true;
    bool checkTensors = false; ///< Look for NaN in the weights while loading.
    std::int64_t seed = 0;
    int gpuLayers = 0; ///< Negative: all.
    std::vector<std::string> rpcEndpoints; ///< host:port of llama RPC workers that are known to listen.
};

} // namespace engine
