#include "cluster/openai/request_json.h"

#include "cluster/openai/request_text.h"

namespace cluster {

namespace {

enum class Kind { Any, Object, List };

/// Puts the JSON text `text` at `key`; nothing where it is empty.
Status addJsonText(RequestJson &json, const char *key, const std::string &text, Kind kind)
{
    if (text.empty())
        return {};
    RequestJson value = RequestJson::parse(text, nullptr, false);
    const bool isRight = !value.is_discarded() && (kind != Kind::Object || value.is_object())
        && (kind != Kind::List || value.is_array());
    if (!isRight)
        return fail(ErrorCode::InvalidArgument,
                    std::string("'") + key + "' of the request is not "
                        + (kind == Kind::Object     ? "a JSON object"
                               : kind == Kind::List ? "a JSON list"
                                                    : "JSON")
                        + ": correct it and send again");
    json[key] = std::move(value);
    return {};
}

template<typename T>
void addIfSet(RequestJson &json, const char *key, const std::optional<T> &value)
{
    if (value)
        json[key] = *value;
}

void addIfSet(RequestJson &json, const char *key, const std::string &value)
{
    if (!value.empty())
        json[key] = value;
}

void addSampling(RequestJson &json, const SamplingParameters &sampling)
{
    addIfSet(json, "temperature", sampling.temperature);
    addIfSet(json, "top_p", sampling.topP);
    addIfSet(json, "top_k", sampling.topK);
    addIfSet(json, "min_p", sampling.minP);
    addIfSet(json, "presence_penalty", sampling.presencePenalty);
    addIfSet(json, "frequency_penalty", sampling.frequencyPenalty);
    addIfSet(json, "repetition_penalty", sampling.repetitionPenalty);
    addIfSet(json, "max_tokens", sampling.maxTokens);
    addIfSet(json, "min_tokens", sampling.minTokens);
    addIfSet(json, "seed", sampling.seed);
    addIfSet(json, "n", sampling.n);
    if (!sampling.stop.empty())
        json["stop"] = sampling.stop;
    addIfSet(json, "ignore_eos", sampling.ignoreEos);
    if (!sampling.logitBias.empty())
        json["logit_bias"] = sampling.logitBias;
}

/// What follows the prompt or the messages.
Status addCommon(RequestJson &json, const GenerationRequest &request)
{
    addSampling(json, request.sampling);
    if (request.stream) {
        json["stream"] = true;
        json["stream_options"] = {{"include_usage", true}};
    }
    return addJsonText(json, "response_format", request.responseFormatJson, Kind::Object);
}

Status addExtra(RequestJson &json, const GenerationRequest &request)
{
    RequestJson extra = RequestJson::object();
    if (auto added = addJsonText(extra, "extra", request.extraJson, Kind::Object); !added)
        return added;
    if (extra.empty())
        return {};
    for (const auto &[key, value] : extra["extra"].items())
        json[key] = value;
    return {};
}

Result<RequestJson> toJson(const ChatMessage &message)
{
    RequestJson json;
    json["role"] = message.role;
    addIfSet(json, "name", message.name);
    addIfSet(json, "tool_call_id", message.toolCallId);
    if (message.content.empty() && !message.toolCallsJson.empty())
        json["content"] = nullptr;
    else
        json["content"] = message.content;
    if (auto added = addJsonText(json, "tool_calls", message.toolCallsJson, Kind::List); !added)
        return tl::unexpected(added.error());
    return json;
}

template<typename Request>
Result<std::string> dumped(const Request &request, int indent)
{
    const Result<RequestJson> json = toJson(request);
    if (!json)
        return tl::unexpected(json.error());
    // Text that is not UTF-8 (a file read as text) is repaired rather than refused.
    return json->dump(indent, ' ', false, RequestJson::error_handler_t::replace);
}

} // namespace

Result<RequestJson> toJson(const ChatRequest &request)
{
    RequestJson json;
    addIfSet(json, "model", request.model);
    json["messages"] = RequestJson::array();
    for (const ChatMessage &message : request.messages) {
        Result<RequestJson> item = toJson(message);
        if (!item)
            return item;
        json["messages"].push_back(std::move(*item));
    }
    Status added = addCommon(json, request);
    if (added)
        added = addJsonText(json, "tools", request.toolsJson, Kind::List);
    if (added)
        added = addJsonText(json, "tool_choice", request.toolChoiceJson, Kind::Any);
    if (request.topLogprobs) {
        json["logprobs"] = true;
        json["top_logprobs"] = *request.topLogprobs;
    }
    if (added)
        added = addExtra(json, request);
    if (!added)
        return tl::unexpected(added.error());
    return json;
}

Result<RequestJson> toJson(const CompletionRequest &request)
{
    RequestJson json;
    addIfSet(json, "model", request.model);
    json["prompt"] = request.prompt;
    addIfSet(json, "suffix", request.suffix);
    Status added = addCommon(json, request);
    if (request.echo)
        json["echo"] = true;
    addIfSet(json, "logprobs", request.logprobs);
    if (added)
        added = addExtra(json, request);
    if (!added)
        return tl::unexpected(added.error());
    return json;
}

Result<RequestJson> toJson(const EmbeddingsRequest &request)
{
    RequestJson json;
    addIfSet(json, "model", request.model);
    json["input"] = request.inputs;
    json["encoding_format"] = "float";
    addIfSet(json, "dimensions", request.dimensions);
    return json;
}

Result<std::string> bodyText(const ChatRequest &request, int indent)
{
    return dumped(request, indent);
}

Result<std::string> bodyText(const CompletionRequest &request, int indent)
{
    return dumped(request, indent);
}

Result<std::string> bodyText(const EmbeddingsRequest &request, int indent)
{
    return dumped(request, indent);
}

} // namespace cluster
