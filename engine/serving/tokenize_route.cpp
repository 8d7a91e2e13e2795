#include "engine/serving/tokenize_route.h"

#include "engine/serving/chat_request.h"
#include "engine/serving/logprobs_json.h"
#include "engine/serving/message_validation.h"
#include "engine/serving/reply_task.h"
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

struct TokenizeRequest
{
    bool isChat = false;
    TextPromptRequest text;
    ChatPromptRequest chat;
    bool wantsStrings = false;
};

/// Neither a prompt nor messages: complaints of both forms that the request may have.
void reportNoInput(FieldReader &reader)
{
    for (const char *name : {"prompt", "messages"}) {
        const std::vector<LocationPart> place{{"function-wrap[__log_extra_fields__()]", false, true},
                                              {name, false, false}};
        reader.add({"missing", place, "Field required", reader.body(), {}});
    }
}

ApiResult<TokenizeRequest> readTokenize(const ServingContext &context, const Json &body)
{
    const Dialect &dialect = context.dialect;
    FieldReader reader(body);
    TokenizeRequest request;
    request.isChat = reader.has("messages") && !reader.has("prompt");
    const std::string model = reader.string("model").value_or("");
    request.wantsStrings = !dialect.isOld() && reader.boolean("return_token_strs").value_or(false);
    if (!request.isChat) {
        request.text.addSpecialTokens = reader.boolean("add_special_tokens").value_or(true);
        if (!reader.has("prompt"))
            reportNoInput(reader);
        else if (!reader.find("prompt"))
            reader.add({"string_type", reader.at("prompt"), "Input should be a valid string", Json(), {}});
        request.text.text = reader.string("prompt").value_or("");
    }
    ApiResult<Json> messages = Json::array();
    ApiResult<ChatPromptRequest> prompt = ChatPromptRequest{};
    if (request.isChat) {
        messages = readMessages(reader, dialect, shownModelName(context));
        const Json *tools = reader.array("tools");
        prompt = readChatPrompt(reader, context, messages ? *messages : Json::array(),
                                tools ? toText(*tools) : "");
    }
    if (!messages && reader.issues().empty())
        return tl::unexpected(messages.error());
    if (!reader.issues().empty())
        return tl::unexpected(validationError(dialect, reader.issues()));
    if (!prompt)
        return tl::unexpected(prompt.error());
    request.chat = std::move(*prompt);
    if (auto known = resolveModel(model, context.options, dialect); !known)
        return tl::unexpected(known.error());
    if (request.isChat && messages->empty()) {
        return tl::unexpected(
            badRequest("Cannot apply chat template to an empty conversation. Provide at least one message."));
    }
    if (request.isChat && !context.backend.facts().hasChatTemplate && request.chat.chatTemplate.empty())
        return tl::unexpected(
            badRequest("This model has no chat template: send a prompt instead of messages."));
    return request;
}

void answerTokens(const ServingContext &context, Exchange &exchange, const Prompt &prompt, bool wantsStrings)
{
    Json answer;
    answer["count"] = prompt.tokens.size();
    answer["max_model_len"] = context.backend.facts().maxModelLen;
    answer["tokens"] = prompt.tokens;
    if (!context.dialect.isOld()) {
        answer["token_strs"] = nullptr;
        if (wantsStrings)
            answer["token_strs"] = prompt.pieces;
    }
    respondJson(exchange, toText(answer));
}

ReplyTask runTokenize(ContextPtr context, ExchangePtr exchange)
{
    if (const auto down = context->unavailable()) {
        respondError(*exchange, *context, *down);
        co_return;
    }
    const auto body = readJsonBody(context->dialect, exchange->request());
    if (!body) {
        respondError(*exchange, *context, body.error());
        co_return;
    }
    const auto request = readTokenize(*context, *body);
    if (!request) {
        respondError(*exchange, *context, request.error());
        co_return;
    }
    if (!request->isChat && request->text.text.empty() && !context->backend.facts().addsBos) {
        answerTokens(*context, *exchange, {}, request->wantsStrings);
        co_return;
    }
    BackendReply<Prompt> call([&context, &request](Backend::Reply<Prompt> reply) {
        if (request->isChat)
            context->backend.renderChat(request->chat, std::move(reply));
        else
            context->backend.tokenize(request->text, std::move(reply));
    });
    const auto prompt = co_await call;
    if (!prompt)
        respondError(*exchange, *context, fromError(prompt.error()));
    else
        answerTokens(*context, *exchange, *prompt, request->wantsStrings);
}

ApiResult<std::vector<TokenId>> readDetokenize(const ServingContext &context, const Json &body)
{
    const Dialect &dialect = context.dialect;
    FieldReader reader(body);
    const std::string model = reader.string("model").value_or("");
    if (!reader.has("tokens"))
        reader.missing("tokens");
    else if (!reader.find("tokens"))
        reader.add({"list_type", reader.at("tokens"), "Input should be a valid list", Json(), {}});
    const auto given = reader.integerList("tokens").value_or(std::vector<std::int64_t>{});
    if (!reader.issues().empty())
        return tl::unexpected(validationError(dialect, reader.issues()));
    if (auto known = resolveModel(model, context.options, dialect); !known)
        return tl::unexpected(known.error());
    std::vector<TokenId> tokens;
    for (const std::int64_t token : given) { // those out of range are skipped, as in both versions
        if (token >= 0 && token < context.backend.facts().vocabularySize)
            tokens.push_back(static_cast<TokenId>(token));
    }
    return tokens;
}

ReplyTask runDetokenize(ContextPtr context, ExchangePtr exchange)
{
    if (const auto down = context->unavailable()) {
        respondError(*exchange, *context, *down);
        co_return;
    }
    const auto body = readJsonBody(context->dialect, exchange->request());
    if (!body) {
        respondError(*exchange, *context, body.error());
        co_return;
    }
    const auto tokens = readDetokenize(*context, *body);
    if (!tokens) {
        respondError(*exchange, *context, tokens.error());
        co_return;
    }
    BackendReply<std::string> call([&context, &tokens](Backend::Reply<std::string> reply) {
        context->backend.detokenize(*tokens, std::move(reply));
    });
    const auto text = co_await call;
    if (!text)
        respondError(*exchange, *context, fromError(text.error()));
    else
        respondJson(*exchange, R"({"prompt":)" + jsonQuoted(*text) + "}");
}

} // namespace

void serveTokenize(ContextPtr context, ExchangePtr exchange)
{
    runTokenize(std::move(context), std::move(exchange));
}

void serveDetokenize(ContextPtr context, ExchangePtr exchange)
{
    runDetokenize(std::move(context), std::move(exchange));
}

} // namespace engine
