#include "engine/serving/embeddings_route.h"

#include "engine/serving/backend_calls.h"
#include "engine/serving/chat_request.h"
#include "engine/serving/completion_request.h"
#include "engine/serving/logprobs_json.h"
#include "engine/serving/message_validation.h"
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

struct EmbeddingsRequest
{
    std::string model;
    std::vector<CompletionPrompt> inputs;
    std::optional<ChatPromptRequest> chat;
    SamplingFields fields; ///< Only truncate_prompt_tokens and add_special_tokens.
    bool base64 = false;
    bool normalize = true;
};

std::optional<ApiError> readEncoding(FieldReader &reader, EmbeddingsRequest &request,
                                     const ServingContext &context)
{
    const std::string encoding = reader.string("encoding_format").value_or("float");
    request.base64 = encoding == "base64";
    if (!request.base64 && encoding != "float") {
        reader.add({"literal_error", reader.at("encoding_format"), "Input should be 'float' or 'base64'",
                    encoding, "{'expected': \"'float' or 'base64'\"}"});
    }
    request.normalize = reader.boolean("normalize").value_or(true);
    if (reader.integer("dimensions")) {
        return badRequest(
            "Model \"" + context.options.servedModelNames.front()
            + "\" does not support matryoshka representation, changing output dimensions will lead to "
              "poor results.");
    }
    if (const auto type = reader.string("embed_dtype"); type && *type != "float32")
        return badRequest("embed_dtype '" + *type + "' is not supported by this engine; use float32.");
    return std::nullopt;
}

ApiResult<EmbeddingsRequest> readInput(const ServingContext &context, const Json &body)
{
    const Dialect &dialect = context.dialect;
    FieldReader reader(body);
    EmbeddingsRequest request;
    const std::string model = reader.string("model").value_or("");
    request.fields.truncatePromptTokens = reader.integer("truncate_prompt_tokens", dialect.isOld() ? 1 : -1);
    request.fields.addSpecialTokens = reader.boolean("add_special_tokens").value_or(true);
    const auto problem = readEncoding(reader, request, context);
    if (reader.has("messages")) {
        auto messages = readMessages(reader, dialect, shownModelName(context));
        if (!messages)
            return tl::unexpected(messages.error());
        auto prompt = readChatPrompt(reader, context, *messages, "");
        if (!prompt)
            return tl::unexpected(prompt.error());
        request.chat = std::move(*prompt);
    } else if (const Json *input = reader.find("input")) {
        request.inputs = readPrompts(reader, *input, "input");
    } else {
        reader.missing("input");
    }
    if (!reader.issues().empty())
        return tl::unexpected(validationError(dialect, reader.issues()));
    auto known = resolveModel(model, context.options, dialect);
    if (!known)
        return tl::unexpected(known.error());
    request.model = *known;
    if (problem)
        return tl::unexpected(*problem);
    if (!request.chat && request.inputs.empty())
        return tl::unexpected(badRequest("You must pass at least one prompt"));
    return request;
}

std::optional<ApiError> checkInput(const ServingContext &context, const std::vector<TokenId> &tokens)
{
    const ModelFacts &facts = context.backend.facts();
    if (tokens.empty())
        return badRequest("The decoder prompt cannot be empty");
    for (const TokenId token : tokens) {
        if (token < 0 || token >= facts.vocabularySize)
            return badRequest("Token id " + std::to_string(token) + " is out of vocabulary");
    }
    if (static_cast<int>(tokens.size()) > facts.maxModelLen) {
        return badRequest(
            "This model's maximum context length is " + std::to_string(facts.maxModelLen)
            + " tokens. However, you requested " + std::to_string(tokens.size())
            + " tokens in the input for embedding generation. Please reduce the length of the input.");
    }
    return std::nullopt;
}

void normalizeVector(std::vector<float> &values)
{
    double square = 0;
    for (const float value : values)
        square += static_cast<double>(value) * value;
    if (square <= 0)
        return;
    const double length = std::sqrt(square);
    for (float &value : values)
        value = static_cast<float>(value / length);
}

ApiResult<EmbeddingsRequest> readEmbeddings(const ServingContext &context, const HttpRequest &http)
{
    if (const auto down = context.unavailable())
        return tl::unexpected(*down);
    const auto body = readJsonBody(context.dialect, http);
    if (!body)
        return tl::unexpected(body.error());
    return readInput(context, *body);
}

/// Tokens of all inputs in the request; their count.
ReplyPart<ApiResult<std::size_t>> readInputs(ContextPtr context, EmbeddingsRequest &request)
{
    if (request.chat) {
        auto prompt = co_await renderedChat(*context, *request.chat);
        if (!prompt)
            co_return tl::unexpected(fromError(prompt.error()));
        request.inputs.push_back({{}, std::move(prompt->tokens), false});
    }
    std::size_t count = 0;
    for (CompletionPrompt &input : request.inputs) {
        if (input.isText) {
            const TextPromptRequest text{input.text, request.fields.addSpecialTokens, true};
            auto prompt = co_await tokenized(*context, text);
            if (!prompt)
                co_return tl::unexpected(fromError(prompt.error()));
            input.tokens = std::move(prompt->tokens);
        }
        truncatePrompt(input.tokens, request.fields, context->backend.facts().maxModelLen);
        if (const auto problem = checkInput(*context, input.tokens))
            co_return tl::unexpected(*problem);
        count += input.tokens.size();
    }
    co_return count;
}

/// The place of some inputs in the queue; given back when the request is over, however it ends.
class QueuePlace
{
public:
    explicit QueuePlace(ContextPtr context) : m_context(std::move(context)) {}
    ~QueuePlace()
    {
        while (m_requests-- > 0)
            m_context->admission.requestEnded();
        m_context->admission.promptDone(m_tokens);
    }
    QueuePlace(const QueuePlace &) = delete;
    QueuePlace &operator=(const QueuePlace &) = delete;

    [[nodiscard]] bool take(int requests, std::int64_t tokens)
    {
        const std::string reason = m_context->admission.admit(requests, tokens);
        if (!reason.empty()) {
            m_context->metrics.rejected(reason);
            return false;
        }
        m_requests = requests;
        m_tokens = tokens;
        return true;
    }

private:
    ContextPtr m_context;
    int m_requests = 0;
    std::int64_t m_tokens = 0;
};

/// One after the other, so that a client that leaves stops at the next, and what waits in the runner is taken
/// back.
ReplyPart<ApiResult<Json>> embedAll(ContextPtr context, ExchangePtr exchange, EmbeddingsRequest &request)
{
    Json data = Json::array();
    for (std::size_t i = 0; i < request.inputs.size() && !exchange->isDisconnected(); ++i) {
        const EmbeddingRequest wanted{context->nextRequest++, request.inputs[i].tokens};
        auto waiting = embedded(*context, wanted);
        exchange->onDisconnect([context, id = wanted.id] { context->backend.cancel(id); });
        auto values = co_await waiting;
        if (!values)
            co_return tl::unexpected(fromError(values.error()));
        if (request.normalize)
            normalizeVector(*values);
        Json item;
        item["index"] = i;
        item["object"] = "embedding";
        item["embedding"] = request.base64 ? Json(encodeFloats(*values)) : Json(*values);
        data.push_back(std::move(item));
    }
    co_return data;
}

ReplyTask answerEmbeddings(ContextPtr context, ExchangePtr exchange)
{
    auto read = readEmbeddings(*context, exchange->request());
    if (!read) {
        respondError(*exchange, *context, read.error());
        co_return;
    }
    EmbeddingsRequest request = std::move(*read);
    const auto promptTokens = co_await readInputs(context, request);
    if (!promptTokens) {
        respondError(*exchange, *context, promptTokens.error());
        co_return;
    }
    QueuePlace place(context);
    if (!place.take(static_cast<int>(request.inputs.size()), static_cast<std::int64_t>(*promptTokens))) {
        respondError(*exchange, *context, overloaded());
        co_return;
    }
    auto data = co_await embedAll(context, exchange, request);
    if (exchange->isDisconnected())
        co_return;
    if (!data) {
        respondError(*exchange, *context, data.error());
        co_return;
    }
    Json answer;
    answer["id"] = "embd-" + context->baseId(exchange->request());
    answer["object"] = "list";
    answer["created"] = context->unixTime();
    answer["model"] = request.model;
    answer["data"] = std::move(*data);
    Json usage;
    usage["prompt_tokens"] = *promptTokens;
    usage["total_tokens"] = *promptTokens;
    usage["completion_tokens"] = 0;
    usage["prompt_tokens_details"] = nullptr;
    answer["usage"] = std::move(usage);
    respondJson(*exchange, toText(answer));
}

} // namespace

std::string encodeFloats(const std::vector<float> &values)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    for (const float value : values) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (int shift = 0; shift < 32; shift += 8)
            bytes += static_cast<char>((bits >> shift) & 0xff);
    }
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = (group << 8) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
        for (std::size_t k = 0; k < 4; ++k)
            text += k > bytes.size() - i ? '=' : alphabet[(group >> (18 - 6 * k)) & 63];
    }
    return text;
}

void serveEmbeddings(ContextPtr context, ExchangePtr exchange)
{
    answerEmbeddings(std::move(context), std::move(exchange));
}

} // namespace engine
