#include "cluster/openai/chat_event.h"

#include <nlohmann/json.hpp>

namespace cluster {

namespace {

using Json = nlohmann::json;

const Json &memberOf(const Json &object, const char *key)
{
    static const Json none;
    if (!object.is_object())
        return none;
    const auto found = object.find(key);
    return found == object.end() ? none : *found;
}

std::string textOf(const Json &object, const char *key)
{
    const Json &value = memberOf(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::int64_t> countOf(const Json &object, const char *key)
{
    const Json &value = memberOf(object, key);
    return value.is_number() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

/// The text of a message may also be a list of parts.
std::string contentOf(const Json &object)
{
    const Json &content = memberOf(object, "content");
    if (!content.is_array())
        return textOf(object, "content");
    std::string text;
    for (const Json &part : content)
        text += textOf(part, "text");
    return text;
}

std::vector<ToolCallDelta> toolCallsOf(const Json &delta)
{
    std::vector<ToolCallDelta> calls;
    const Json &list = memberOf(delta, "tool_calls");
    if (!list.is_array())
        return calls;
    for (const Json &item : list) {
        ToolCallDelta call;
        // Whole answers have no index: there the place in the list is it.
        call.index
            = static_cast<int>(countOf(item, "index").value_or(static_cast<std::int64_t>(calls.size())));
        call.id = textOf(item, "id");
        const Json &function = memberOf(item, "function");
        call.name = textOf(function, "name");
        const Json &arguments = memberOf(function, "arguments");
        call.arguments = arguments.is_object() ? arguments.dump() : textOf(function, "arguments");
        calls.push_back(std::move(call));
    }
    return calls;
}

std::string stopReasonOf(const Json &choice)
{
    const Json &reason = memberOf(choice, "stop_reason");
    if (reason.is_string())
        return reason.get<std::string>();
    return reason.is_number_integer() ? std::to_string(reason.get<std::int64_t>()) : std::string();
}

ChoiceDelta choiceOf(const Json &choice, std::int64_t place)
{
    ChoiceDelta result;
    result.index = static_cast<int>(countOf(choice, "index").value_or(place));
    result.finishReason = textOf(choice, "finish_reason");
    result.stopReason = stopReasonOf(choice);
    const Json &delta = memberOf(choice, choice.contains("message") ? "message" : "delta");
    result.role = textOf(delta, "role");
    result.content = contentOf(delta) + textOf(choice, "text");
    result.reasoning = textOf(delta, "reasoning");
    if (result.reasoning.empty())
        result.reasoning = textOf(delta, "reasoning_content");
    result.refusal = textOf(delta, "refusal");
    result.toolCalls = toolCallsOf(delta);
    return result;
}

std::optional<TokenUsage> usageOf(const Json &chunk)
{
    const Json &usage = memberOf(chunk, "usage");
    if (!usage.is_object())
        return std::nullopt;
    TokenUsage result;
    result.promptTokens = countOf(usage, "prompt_tokens").value_or(0);
    result.completionTokens = countOf(usage, "completion_tokens").value_or(0);
    result.totalTokens
        = countOf(usage, "total_tokens").value_or(result.promptTokens + result.completionTokens);
    result.cachedPromptTokens = countOf(memberOf(usage, "prompt_tokens_details"), "cached_tokens");
    result.reasoningTokens = countOf(memberOf(usage, "completion_tokens_details"), "reasoning_tokens");
    return result;
}

AnswerChunk chunkOf(const Json &json)
{
    AnswerChunk chunk;
    chunk.id = textOf(json, "id");
    chunk.model = textOf(json, "model");
    chunk.systemFingerprint = textOf(json, "system_fingerprint");
    std::int64_t place = 0;
    if (const Json &choices = memberOf(json, "choices"); choices.is_array()) {
        for (const Json &choice : choices) {
            if (choice.is_object())
                chunk.choices.push_back(choiceOf(choice, place++));
        }
    }
    chunk.usage = usageOf(json);
    return chunk;
}

bool isError(const Json &json)
{
    if (const Json &error = memberOf(json, "error"); !error.is_null())
        return true;
    if (textOf(json, "object") == "error")
        return true;
    return !json.contains("choices") && json.contains("detail");
}

std::string shortened(std::string_view text)
{
    constexpr std::size_t shownBytes = 120;
    return text.size() <= shownBytes ? std::string(text) : std::string(text.substr(0, shownBytes)) + "...";
}

} // namespace

Result<StreamEvent> parseStreamEvent(const SseEvent &event)
{
    if (event.data == "[DONE]")
        return StreamDone();
    if (event.name == "error")
        return parseErrorBody(0, event.data);
    const Json json = Json::parse(event.data, nullptr, false);
    if (!json.is_object())
        return fail(ErrorCode::DataLoss,
                    "the server sent an event that is not a JSON object: " + shortened(event.data));
    if (isError(json))
        return parseErrorBody(0, event.data);
    // A plain {"message": ...} is how some gateways tell of a failure.
    if (!json.contains("choices") && !json.contains("usage") && json.contains("message"))
        return parseErrorBody(0, event.data);
    return chunkOf(json);
}

Result<std::variant<AnswerChunk, ApiError>> parseWholeAnswer(std::string_view body)
{
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object())
        return fail(ErrorCode::DataLoss, "the answer is not a JSON object: " + shortened(body));
    if (isError(json))
        return parseErrorBody(0, body);
    if (!memberOf(json, "choices").is_array())
        return fail(ErrorCode::DataLoss, "the answer has no 'choices': " + shortened(body));
    return chunkOf(json);
}

} // namespace cluster
