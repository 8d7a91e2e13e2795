#include "engine/serving/completion_request.h"

#include "engine/serving/structured_output.h"

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char *kEmptyPrompt = "Either prompt or prompt_embeds must be provided and non-empty.";
constexpr std::int64_t kDefaultMaxTokens = 16;

bool isIntegerList(const Json &value)
{
    if (!value.is_array() || value.empty())
        return false;
    FieldIssue ignored;
    for (const Json &item : value) {
        if (item.is_string() || !FieldReader::toInteger(item, ignored))
            return false;
    }
    return true;
}

CompletionPrompt tokenPrompt(const Json &list)
{
    CompletionPrompt prompt;
    prompt.isText = false;
    FieldIssue ignored;
    for (const Json &item : list) {
        const std::int64_t token = FieldReader::toInteger(item, ignored).value_or(-1);
        prompt.tokens.push_back(static_cast<TokenId>(std::clamp<std::int64_t>(token, -1, INT32_MAX)));
    }
    return prompt;
}

void promptIssues(FieldReader &reader, const Json &value, const char *field)
{
    const auto place = [&](const char *branch) {
        auto parts = reader.at(field);
        parts.push_back({branch, false, true});
        return parts;
    };
    const char *list = "Input should be a valid list";
    reader.add({"list_type", place("list[int]"), list, value, {}});
    reader.add({"list_type", place("list[list[int]]"), list, value, {}});
    reader.add({"string_type", place("str"), "Input should be a valid string", value, {}});
    reader.add({"list_type", place("list[str]"), list, value, {}});
}

std::optional<ApiError> checkPromptField(FieldReader &reader, const Dialect &dialect)
{
    const Json *value = reader.find("prompt");
    if (dialect.isOld()) {
        if (!reader.has("prompt"))
            reader.missing("prompt");
        else if (!value)
            promptIssues(reader, Json(), "prompt");
        return std::nullopt;
    }
    if (!value || (value->is_string() && value->get_ref<const std::string &>().empty()))
        return badParameter(dialect, kEmptyPrompt, "prompt");
    return std::nullopt;
}

std::optional<ApiError> checkPrompts(const ServingContext &context, const CompletionRequest &request)
{
    const Dialect &dialect = context.dialect;
    if (request.prompts.empty()) {
        return badRequest(dialect.isOld() ? "please provide at least one prompt"
                                          : "You must pass at least one prompt");
    }
    for (const CompletionPrompt &prompt : request.prompts) {
        for (const TokenId token : prompt.tokens) {
            if (token < 0 || token >= context.backend.facts().vocabularySize)
                return badRequest("Token id " + std::to_string(token) + " is out of vocabulary");
        }
    }
    return std::nullopt;
}

std::optional<ApiError> checkUnsupported(FieldReader &reader, const CompletionRequest &request,
                                         const Dialect &dialect)
{
    if (reader.find("suffix")) {
        return dialect.isOld()
            ? badRequest("suffix is not currently supported")
            : badRequest("suffix is only supported for models with FIM completion rendering", "suffix");
    }
    if (reader.find("prompt_embeds"))
        return badRequest("prompt_embeds is not supported by this engine; send text or token ids.");
    if (request.fields.beamSearch) {
        return badRequest(request.fields.stream ? "Streaming is not currently supported with beam search"
                                                : "Beam search is not supported by this engine; leave "
                                                  "use_beam_search out.");
    }
    return std::nullopt;
}

} // namespace

std::vector<CompletionPrompt> readPrompts(FieldReader &reader, const Json &value, const char *field)
{
    std::vector<CompletionPrompt> prompts;
    if (value.is_string()) {
        prompts.push_back({value.get<std::string>(), {}, true});
    } else if (isIntegerList(value)) {
        prompts.push_back(tokenPrompt(value));
    } else if (value.is_array()) {
        for (const Json &item : value) {
            if (item.is_string())
                prompts.push_back({item.get<std::string>(), {}, true});
            else if (isIntegerList(item))
                prompts.push_back(tokenPrompt(item));
        }
        if (prompts.size() != value.size())
            promptIssues(reader, value, field);
    } else {
        promptIssues(reader, value, field);
    }
    return prompts;
}

ApiResult<CompletionRequest> readCompletionRequest(const ServingContext &context, const Json &body)
{
    const Dialect &dialect = context.dialect;
    FieldReader reader(body);
    CompletionRequest request;
    if (auto problem = checkPromptField(reader, dialect))
        return tl::unexpected(std::move(*problem));
    request.fields = readSamplingFields(reader, context.options, dialect);
    if (!reader.has("max_tokens"))
        request.fields.maxTokens = kDefaultMaxTokens;
    const auto logprobs = reader.integer("logprobs");
    if (const Json *value = reader.find("prompt"))
        request.prompts = readPrompts(reader, *value, "prompt");
    auto grammar = readStructuredOutput(reader, dialect);
    if (!reader.issues().empty())
        return tl::unexpected(validationError(dialect, reader.issues()));
    if (logprobs && *logprobs < (dialect.isOld() ? 0 : -1))
        return tl::unexpected(ruleError(dialect, body, "`logprobs` must be a positive value.", "logprobs"));
    if (auto problem = checkSharedRules(reader, request.fields, dialect))
        return tl::unexpected(std::move(*problem));
    if (!grammar)
        return tl::unexpected(grammar.error());
    request.grammar = std::move(*grammar);
    auto model = resolveModel(request.fields.model, context.options, dialect);
    if (!model)
        return tl::unexpected(model.error());
    request.model = *model;
    if (auto problem = checkUnsupported(reader, request, dialect))
        return tl::unexpected(std::move(*problem));
    if (auto problem = checkPrompts(context, request))
        return tl::unexpected(std::move(*problem));
    if (logprobs)
        request.logprobs = *logprobs == -1 ? context.backend.facts().vocabularySize : *logprobs;
    if (request.fields.echo && !request.fields.promptLogprobs && request.logprobs >= 0)
        request.fields.promptLogprobs = request.logprobs;
    auto sampling = makeSampling(request.fields, request.logprobs, dialect);
    if (!sampling)
        return tl::unexpected(sampling.error());
    request.sampling = std::move(*sampling);
    return request;
}

} // namespace engine
