#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster {

/// Unset fields are left out of the request, so that the server's own defaults hold.
struct SamplingParameters
{
    std::optional<double> temperature;
    std::optional<double> topP;
    std::optional<int> topK;
    std::optional<double> minP;
    std::optional<double> presencePenalty;
    std::optional<double> frequencyPenalty;
    std::optional<double> repetitionPenalty;
    std::optional<int> maxTokens;
    std::optional<int> minTokens;
    std::optional<std::int64_t> seed;
    std::optional<int> n;
    std::vector<std::string> stop;
    std::optional<bool> ignoreEos;
    std::map<std::string, double> logitBias; ///< token id in decimal -> bias
};

struct ChatMessage
{
    std::string role; ///< "system", "user", "assistant", "tool"
    std::string content;
    std::string name;
    std::string toolCallId; ///< of a tool's answer
    std::string toolCallsJson; ///< of an assistant's message: the `tool_calls` list as JSON text
};

/// What the two ways of generating share. The ...Json fields are JSON text, empty where unused; `extraJson`
/// is an object whose members go on the top level, last, so that they win.
struct GenerationRequest
{
    std::string model;
    SamplingParameters sampling;
    bool stream = true; ///< then usage is asked for too
    std::string responseFormatJson;
    std::string extraJson;
};

struct ChatRequest : GenerationRequest
{
    std::vector<ChatMessage> messages;
    std::string toolsJson;
    std::string toolChoiceJson; ///< "auto" with its quotation marks, or an object
    std::optional<int> topLogprobs; ///< asks for logprobs too
};

struct CompletionRequest : GenerationRequest
{
    std::string prompt;
    bool echo = false;
    std::optional<int> logprobs;
    std::string suffix;
};

struct EmbeddingsRequest
{
    std::string model;
    std::vector<std::string> inputs;
    std::optional<int> dimensions;
};

} // namespace cluster
