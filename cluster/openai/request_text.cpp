#include "cluster/openai/request_text.h"

#include "cluster/openai/request_json.h"

namespace cluster {

namespace {

std::string shellQuoted(const std::string &text)
{
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

std::string dump(const RequestJson &json, int indent = -1)
{
    return json.dump(indent, ' ', false, RequestJson::error_handler_t::replace);
}

/// A JSON value as Python source: the same but for three words and the characters that only Python minds.
std::string pythonLiteral(const RequestJson &json, const std::string &indent)
{
    if (json.is_null())
        return "None";
    if (json.is_boolean())
        return json.get<bool>() ? "True" : "False";
    if (!json.is_structured() || json.empty())
        return dump(json);
    const std::string inner = indent + "    ";
    std::string text = json.is_object() ? "{\n" : "[\n";
    for (const auto &item : json.items()) {
        text += inner;
        if (json.is_object())
            text += dump(RequestJson(item.key())) + ": ";
        text += pythonLiteral(item.value(), inner) + ",\n";
    }
    return text + indent + (json.is_object() ? "}" : "]");
}

/// What the openai client knows by name; everything else is vLLM's and goes into extra_body.
bool isOpenAiParameter(const std::string &key)
{
    for (const char *known : {"model",
                              "messages",
                              "prompt",
                              "suffix",
                              "temperature",
                              "top_p",
                              "presence_penalty",
                              "frequency_penalty",
                              "max_tokens",
                              "max_completion_tokens",
                              "seed",
                              "n",
                              "stop",
                              "logit_bias",
                              "logprobs",
                              "top_logprobs",
                              "stream",
                              "stream_options",
                              "response_format",
                              "tools",
                              "tool_choice",
                              "echo",
                              "user",
                              "best_of",
                              "parallel_tool_calls",
                              "reasoning_effort"}) {
        if (key == known)
            return true;
    }
    return false;
}

std::string curlText(const std::string &baseUrl, bool hasApiKey, const char *path, const RequestJson &json)
{
    const bool isStream = json.contains("stream") && json["stream"] == true;
    std::string text = isStream ? "curl -N " : "curl ";
    text += shellQuoted(openAiUrl(baseUrl, path)) + " \\\n";
    if (hasApiKey)
        text += "  -H \"Authorization: Bearer $OPENAI_API_KEY\" \\\n";
    text += "  -H 'Content-Type: application/json' \\\n";
    return text + "  -d " + shellQuoted(dump(json, 2)) + "\n";
}

std::string pythonText(const std::string &baseUrl, bool hasApiKey, bool isChat, const RequestJson &json)
{
    const std::string key = hasApiKey ? "os.environ[\"OPENAI_API_KEY\"]" : "\"none\"";
    std::string text
        = hasApiKey ? "import os\n\nfrom openai import OpenAI\n\n" : "from openai import OpenAI\n\n";
    text += "client = OpenAI(base_url=" + dump(RequestJson(openAiUrl(baseUrl, ""))) + ", api_key=" + key
        + ")\n";
    text += isChat ? "answer = client.chat.completions.create(\n" : "answer = client.completions.create(\n";
    RequestJson extra = RequestJson::object();
    bool hasModel = false;
    for (const auto &item : json.items()) {
        hasModel = hasModel || item.key() == "model";
        if (isOpenAiParameter(item.key()))
            text += "    " + item.key() + "=" + pythonLiteral(item.value(), "    ") + ",\n";
        else
            extra[item.key()] = item.value();
    }
    if (!hasModel)
        text += "    model=\"\",\n";
    if (!extra.empty())
        text += "    extra_body=" + pythonLiteral(extra, "    ") + ",\n";
    text += ")\n";
    const std::string place = isChat ? "message.content" : "text";
    if (!json.contains("stream") || json["stream"] != true)
        return text + "print(answer.choices[0]." + place + ")\n";
    text += "for chunk in answer:\n    for choice in chunk.choices:\n";
    return text + "        print(choice." + (isChat ? "delta.content" : "text")
        + " or \"\", end=\"\", flush=True)\n";
}

} // namespace

std::string openAiUrl(std::string_view baseUrl, std::string_view path)
{
    while (baseUrl.ends_with('/'))
        baseUrl.remove_suffix(1);
    std::string url(baseUrl);
    if (!baseUrl.ends_with("/v1"))
        url += "/v1";
    return url.append(path);
}

Result<std::string> asCurl(const std::string &baseUrl, bool hasApiKey, const ChatRequest &request)
{
    return toJson(request).map(
        [&](const RequestJson &json) { return curlText(baseUrl, hasApiKey, "/chat/completions", json); });
}

Result<std::string> asCurl(const std::string &baseUrl, bool hasApiKey, const CompletionRequest &request)
{
    return toJson(request).map(
        [&](const RequestJson &json) { return curlText(baseUrl, hasApiKey, "/completions", json); });
}

Result<std::string> asPython(const std::string &baseUrl, bool hasApiKey, const ChatRequest &request)
{
    return toJson(request).map(
        [&](const RequestJson &json) { return pythonText(baseUrl, hasApiKey, true, json); });
}

Result<std::string> asPython(const std::string &baseUrl, bool hasApiKey, const CompletionRequest &request)
{
    return toJson(request).map(
        [&](const RequestJson &json) { return pythonText(baseUrl, hasApiKey, false, json); });
}

} // namespace cluster
