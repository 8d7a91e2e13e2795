#include "engine/serving/sampling_request.h"

#include "engine/serving/python_text.h"
#include <algorithm>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kNewestMaxStops = 4;

void readStreamFields(FieldReader &reader, SamplingFields &fields, const ServerOptions &options,
                      const Dialect &dialect)
{
    fields.stream = reader.boolean("stream").value_or(false);
    if (const Json *given = reader.object("stream_options")) {
        FieldReader nested(*given, reader.at("stream_options"));
        fields.includeUsage = nested.boolean("include_usage").value_or(dialect.emptyStreamOptionsMeansUsage);
        fields.continuousUsage = nested.boolean("continuous_usage_stats").value_or(false)
            && (fields.includeUsage || dialect.isOld());
        for (const FieldIssue &issue : nested.issues())
            reader.add(issue);
    }
    if (options.forceIncludeUsage)
        fields.includeUsage = fields.continuousUsage = true;
}

void readLogitBias(FieldReader &reader, SamplingFields &fields)
{
    const Json *given = reader.object("logit_bias");
    if (!given)
        return;
    fields.logitBias.emplace();
    for (const auto &[key, value] :
         given->items()) { // may be as many as tokens: none is looked up by its name
        FieldIssue issue;
        if (value.is_null())
            continue;
        if (const auto bias = FieldReader::toNumber(value, issue)) {
            fields.logitBias->emplace_back(key, *bias);
            continue;
        }
        issue.input = value;
        issue.location = reader.at("logit_bias");
        issue.location.push_back({key, false, false});
        reader.add(std::move(issue));
    }
}

std::optional<std::int64_t> tokenKey(const std::string &key)
{
    FieldIssue ignored;
    return FieldReader::toInteger(Json(key), ignored);
}

std::string quotedList(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : ", ") + word;
    return "[" + text + "]";
}

std::optional<std::string> penaltyProblem(const SamplingFields &fields)
{
    if (fields.presencePenalty < -2 || fields.presencePenalty > 2)
        return "presence_penalty must be in [-2, 2], got " + pythonFloat(fields.presencePenalty) + ".";
    if (fields.frequencyPenalty < -2 || fields.frequencyPenalty > 2)
        return "frequency_penalty must be in [-2, 2], got " + pythonFloat(fields.frequencyPenalty) + ".";
    if (!(fields.repetitionPenalty > 0))
        return "repetition_penalty must be greater than zero, got " + pythonFloat(fields.repetitionPenalty)
            + ".";
    return std::nullopt;
}

std::optional<ApiError> rangeProblem(const SamplingFields &fields, const Dialect &dialect)
{
    const auto named = [&](const std::string &text, const char *name, double value) {
        return badParameter(dialect, text + ", got " + pythonFloat(value) + ".", name, pythonFloat(value));
    };
    if (fields.n < 1)
        return badRequest("n must be at least 1, got " + std::to_string(fields.n) + ".");
    if (fields.n > 16384)
        return badRequest("n must be at most 16384, got " + std::to_string(fields.n) + ".");
    if (const auto problem = penaltyProblem(fields))
        return badRequest(*problem);
    if (!(fields.temperature >= 0))
        return named("temperature must be non-negative", "temperature", fields.temperature);
    if (!dialect.isOld() && fields.temperature > 2)
        return named("temperature must be in [0, 2]", "temperature", fields.temperature);
    if (!(fields.topP > 0 && fields.topP <= 1))
        return named("top_p must be in (0, 1]", "top_p", fields.topP);
    if (fields.topK < -1 || (dialect.isOld() && fields.topK == 0)) {
        return badRequest("top_k must be " + std::to_string(dialect.topKOff)
                          + " (disable), or at least 1, got " + std::to_string(fields.topK) + ".");
    }
    if (!(fields.minP >= 0 && fields.minP <= 1))
        return badRequest("min_p must be in [0, 1], got " + pythonFloat(fields.minP) + ".");
    return std::nullopt;
}

std::optional<ApiError> lengthProblem(const SamplingFields &fields, const Dialect &dialect)
{
    const bool promptOnly = fields.echo && fields.maxTokens == 0;
    if (fields.maxTokens && *fields.maxTokens < 1 && !promptOnly) {
        const std::string value = std::to_string(*fields.maxTokens);
        return badParameter(dialect, "max_tokens must be at least 1, got " + value + ".", "max_tokens",
                            value);
    }
    if (fields.minTokens < 0) {
        return badRequest("min_tokens must be greater than or equal to 0, got "
                          + std::to_string(fields.minTokens) + ".");
    }
    if (fields.maxTokens && fields.minTokens > std::max<std::int64_t>(*fields.maxTokens, 1)) {
        return badRequest("min_tokens must be less than or equal to max_tokens="
                          + std::to_string(*fields.maxTokens) + ", got " + std::to_string(fields.minTokens)
                          + ".");
    }
    if (std::find(fields.stop.begin(), fields.stop.end(), "") != fields.stop.end())
        return badRequest("stop cannot contain an empty string.");
    return std::nullopt;
}

ApiResult<std::vector<std::pair<TokenId, float>>> readBiases(const SamplingFields &fields,
                                                             const Dialect &dialect)
{
    std::vector<std::pair<TokenId, float>> biases;
    std::vector<std::string> wrong;
    for (const auto &[key, value] :
         fields.logitBias.value_or(std::vector<std::pair<std::string, double>>{})) {
        const auto token = tokenKey(key);
        if (!token)
            wrong.push_back(pythonRepr(std::string_view(key)));
        else if (*token >= 0 && *token < INT32_MAX)
            biases.emplace_back(static_cast<TokenId>(*token),
                                static_cast<float>(std::clamp(value, -100.0, 100.0)));
    }
    if (wrong.empty())
        return biases;
    if (dialect.isOld())
        return tl::unexpected(badRequest("invalid literal for int() with base 10: " + wrong.front()));
    return tl::unexpected(badParameter(
        dialect,
        "logit_bias contains key(s) that cannot be converted to integer token IDs: " + quotedList(wrong),
        "logit_bias", quotedList(wrong)));
}

} // namespace

SamplingFields readSamplingFields(FieldReader &reader, const ServerOptions &options, const Dialect &dialect)
{
    SamplingFields fields;
    fields.model = reader.string("model").value_or("");
    fields.n = reader.integer("n").value_or(1);
    if (dialect.isOld())
        fields.bestOf = reader.integer("best_of").value_or(0);
    fields.maxTokens = reader.integer("max_tokens");
    fields.minTokens = reader.integer("min_tokens").value_or(0);
    fields.temperature = reader.number("temperature").value_or(1.0);
    fields.topP = reader.number("top_p").value_or(1.0);
    fields.topK = reader.integer("top_k").value_or(dialect.topKOff);
    fields.minP = reader.number("min_p").value_or(0.0);
    fields.presencePenalty = reader.number("presence_penalty").value_or(0.0);
    fields.frequencyPenalty = reader.number("frequency_penalty").value_or(0.0);
    fields.repetitionPenalty = reader.number("repetition_penalty").value_or(1.0);
    fields.seed = reader.integer("seed");
    if (fields.seed == -1)
        fields.seed.reset();
    const std::size_t mostStops = dialect.isOld() ? static_cast<std::size_t>(-1) : kNewestMaxStops;
    fields.stop = reader.stringOrList("stop", mostStops).value_or(std::vector<std::string>{});
    fields.stopTokenIds = reader.integerList("stop_token_ids").value_or(std::vector<std::int64_t>{});
    fields.includeStop = reader.boolean("include_stop_str_in_output").value_or(false);
    fields.ignoreEos = reader.boolean("ignore_eos").value_or(false);
    fields.skipSpecialTokens = reader.boolean("skip_special_tokens").value_or(true);
    readLogitBias(reader, fields);
    fields.allowedTokenIds = reader.integerList("allowed_token_ids");
    fields.promptLogprobs = reader.integer("prompt_logprobs");
    fields.truncatePromptTokens = reader.integer("truncate_prompt_tokens", dialect.isOld() ? 1 : -1);
    fields.priority = reader.integer("priority").value_or(0);
    fields.beamSearch = reader.boolean("use_beam_search").value_or(false);
    fields.echo = reader.boolean("echo").value_or(false);
    fields.tokensAsIds
        = reader.boolean("return_tokens_as_token_ids").value_or(options.returnTokensAsTokenIds);
    if (!dialect.isOld()) {
        fields.badWords = reader.stringList("bad_words").value_or(std::vector<std::string>{});
        fields.cacheSalt = reader.string("cache_salt").value_or("");
        fields.returnTokenIds = reader.boolean("return_token_ids").value_or(false);
    }
    fields.requestId = reader.string("request_id").value_or("");
    readStreamFields(reader, fields, options, dialect);
    return fields;
}

std::optional<ApiError> checkSharedRules(const FieldReader &reader, const SamplingFields &fields,
                                         const Dialect &dialect)
{
    if (reader.find("stream_options") && !fields.stream) {
        return ruleError(dialect, reader.body(), "Stream options can only be defined when `stream=True`.",
                         "stream_options");
    }
    if (fields.promptLogprobs) {
        if (fields.stream && *fields.promptLogprobs != 0) {
            return ruleError(dialect, reader.body(),
                             "`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs");
        }
        if (*fields.promptLogprobs < (dialect.isOld() ? 0 : -1)) {
            return ruleError(dialect, reader.body(), "`prompt_logprobs` must be a positive value.",
                             "prompt_logprobs");
        }
    }
    return std::nullopt;
}

ApiResult<std::string> resolveModel(const std::string &asked, const ServerOptions &options,
                                    const Dialect &dialect)
{
    const auto &names = options.servedModelNames;
    if (asked.empty())
        return names.front();
    if (std::find(names.begin(), names.end(), asked) != names.end())
        return asked;
    return tl::unexpected(notFoundError(dialect, asked, names));
}

ApiResult<SamplingParams> makeSampling(const SamplingFields &fields, std::int64_t logprobs,
                                       const Dialect &dialect)
{
    if (auto problem = rangeProblem(fields, dialect))
        return tl::unexpected(std::move(*problem));
    if (auto problem = lengthProblem(fields, dialect))
        return tl::unexpected(std::move(*problem));
    if (fields.allowedTokenIds && fields.allowedTokenIds->empty())
        return tl::unexpected(
            badParameter(dialect, "allowed_token_ids is not None and empty!", "allowed_token_ids"));
    const bool greedy = fields.temperature < 1e-5;
    if (greedy && std::max(fields.n, fields.bestOf) > 1) {
        return tl::unexpected(badRequest("n must be 1 when using greedy sampling, got "
                                         + std::to_string(std::max(fields.n, fields.bestOf)) + "."));
    }
    auto biases = readBiases(fields, dialect);
    if (!biases)
        return tl::unexpected(biases.error());
    SamplingParams sampling;
    sampling.minTokens = static_cast<int>(std::min<std::int64_t>(fields.minTokens, INT32_MAX));
    sampling.temperature = greedy ? 0.0 : std::max(fields.temperature, 0.01);
    sampling.topP = greedy ? 1.0 : fields.topP;
    sampling.topK = greedy ? 0 : static_cast<int>(std::clamp<std::int64_t>(fields.topK, 0, INT32_MAX));
    sampling.minP = greedy ? 0.0 : fields.minP;
    sampling.presencePenalty = fields.presencePenalty;
    sampling.frequencyPenalty = fields.frequencyPenalty;
    sampling.repetitionPenalty = fields.repetitionPenalty;
    sampling.seed = fields.seed;
    sampling.stop = fields.stop;
    for (const std::int64_t token : fields.stopTokenIds) {
        if (token >= 0 && token < INT32_MAX)
            sampling.stopTokenIds.push_back(static_cast<TokenId>(token));
    }
    for (const std::int64_t token : fields.allowedTokenIds.value_or(std::vector<std::int64_t>{}))
        sampling.allowedTokenIds.push_back(
            static_cast<TokenId>(std::clamp<std::int64_t>(token, -1, INT32_MAX)));
    sampling.includeStopInOutput = fields.includeStop;
    sampling.ignoreEos = fields.ignoreEos;
    sampling.logitBias = std::move(*biases);
    sampling.badWords = fields.badWords;
    sampling.logprobs = static_cast<int>(std::clamp<std::int64_t>(logprobs, -1, INT32_MAX));
    sampling.promptLogprobs
        = static_cast<int>(std::clamp<std::int64_t>(fields.promptLogprobs.value_or(-1), -1, INT32_MAX));
    sampling.skipSpecialTokens = fields.skipSpecialTokens;
    return sampling;
}

std::optional<ApiError> checkAgainstEngine(const SamplingFields &fields, std::int64_t logprobs,
                                           const ServerOptions &options, const Dialect &dialect,
                                           int vocabularySize)
{
    const std::string most = std::to_string(options.maxLogprobs);
    const auto tooMany = [&](const std::string &kind, const char *name, std::int64_t count) {
        const std::string value = std::to_string(count);
        if (dialect.isOld())
            return badRequest("Cannot request more than " + most
                              + (kind == "prompt" ? " prompt logprobs." : " logprobs."));
        return badParameter(dialect,
                            "Requested " + kind + " logprobs of " + value
                                + ", which is greater than max allowed: " + most,
                            name, value);
    };
    if (options.maxLogprobs >= 0 && logprobs > options.maxLogprobs)
        return tooMany("sample", "logprobs", logprobs);
    const std::int64_t prompt
        = fields.promptLogprobs == -1 ? vocabularySize : fields.promptLogprobs.value_or(0);
    if (options.maxLogprobs >= 0 && prompt > options.maxLogprobs)
        return tooMany("prompt", "prompt_logprobs", prompt);
    const auto outside = [&](std::int64_t token) { return token < 0 || token >= vocabularySize; };
    std::vector<std::string> wrong;
    for (const auto &[key, value] :
         fields.logitBias.value_or(std::vector<std::pair<std::string, double>>{})) {
        if (const auto token = tokenKey(key); token && outside(*token))
            wrong.push_back(std::to_string(*token));
    }
    if (!wrong.empty() && dialect.isOld())
        return badRequest("token_id " + wrong.front() + " in logit_bias contains out-of-vocab token id");
    if (!wrong.empty()) {
        return badParameter(dialect,
                            "token_id(s) " + quotedList(wrong)
                                + " in logit_bias contain out-of-vocab token ids. "
                                  "Vocabulary size: "
                                + std::to_string(vocabularySize),
                            "logit_bias", quotedList(wrong));
    }
    const auto allowed = fields.allowedTokenIds.value_or(std::vector<std::int64_t>{});
    if (std::any_of(allowed.begin(), allowed.end(), outside))
        return badParameter(dialect, "allowed_token_ids contains out-of-vocab token id!",
                            "allowed_token_ids");
    if (dialect.isOld() && fields.priority != 0 && !options.prioritySchedulingInOldDialect) {
        return badRequest("Got priority " + std::to_string(fields.priority)
                          + " but Priority scheduling is not enabled.");
    }
    return std::nullopt;
}

std::optional<ApiError> checkLengthsEarly(const SamplingFields &fields, std::size_t textBytes,
                                          int maxModelLen, const Dialect &dialect)
{
    constexpr std::size_t kLongestToken = 1024; // bytes; no vocabulary has longer ones
    if (dialect.clipsToContext && fields.maxTokens && *fields.maxTokens > maxModelLen) {
        const std::string value = std::to_string(*fields.maxTokens);
        return badParameter(dialect,
                            "max_tokens=" + value + " cannot be greater than max_model_len="
                                + std::to_string(maxModelLen) + ". Please request fewer output tokens.",
                            "max_tokens", value);
    }
    const bool truncated = fields.truncatePromptTokens.has_value();
    if (!truncated && textBytes / kLongestToken > static_cast<std::size_t>(maxModelLen)) {
        return badParameter(
            dialect,
            "This model's maximum context length is " + std::to_string(maxModelLen)
                + " tokens. However, your prompt contains " + std::to_string(textBytes)
                + " characters, which is more than any so short a prompt can have. Please reduce the "
                  "length of the input prompt.",
            "input_text", std::to_string(textBytes));
    }
    return std::nullopt;
}

void truncatePrompt(std::vector<TokenId> &tokens, const SamplingFields &fields, int maxModelLen)
{
    if (!fields.truncatePromptTokens)
        return;
    const std::int64_t keep = *fields.truncatePromptTokens == -1 ? maxModelLen : *fields.truncatePromptTokens;
    if (keep >= 0 && static_cast<std::int64_t>(tokens.size()) > keep)
        tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(keep));
}

ApiResult<int> fitMaxTokens(const SamplingFields &fields, std::size_t promptTokens, int maxModelLen, int cap,
                            const Dialect &dialect)
{
    const auto length = static_cast<std::int64_t>(promptTokens);
    const std::string limit = std::to_string(maxModelLen);
    const std::string context = "This model's maximum context length is " + limit + " tokens. However, ";
    if (dialect.clipsToContext && length >= maxModelLen) {
        const std::string atLeast = std::to_string(length > maxModelLen ? maxModelLen + 1 : maxModelLen);
        return tl::unexpected(
            badParameter(dialect,
                         context + "your prompt contains at least " + atLeast
                             + " input tokens, which exceeds this limit even without any output "
                               "tokens. Please reduce the length of the input prompt.",
                         "input_tokens", atLeast));
    }
    if (!dialect.clipsToContext && !fields.maxTokens && length >= maxModelLen) {
        return tl::unexpected(
            badRequest(context + "you requested " + std::to_string(length)
                       + " tokens in the messages, Please reduce the length of the messages."));
    }
    std::int64_t wanted = fields.maxTokens.value_or(maxModelLen - length);
    if (!dialect.clipsToContext && length + wanted > maxModelLen) {
        return tl::unexpected(badRequest(context + "you requested " + std::to_string(length + wanted)
                                         + " tokens (" + std::to_string(length) + " in the messages, "
                                         + std::to_string(wanted)
                                         + " in the completion). Please reduce the length of the messages or "
                                           "completion."));
    }
    wanted = std::clamp<std::int64_t>(wanted, 1, maxModelLen - length); // 0 with echo runs one token
    if (cap > 0)
        wanted = std::min<std::int64_t>(wanted, cap);
    return static_cast<int>(wanted);
}

} // namespace engine
