#include "engine/serving/usage_json.h"

#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

namespace {

Json counts(int prompt, int completion)
{
    return Json{
        {"prompt_tokens", prompt}, {"total_tokens", prompt + completion}, {"completion_tokens", completion}};
}

} // namespace

Json fullUsage(const ServingContext &context, const GenerationGroup &group, int reasoningTokens)
{
    Json usage = counts(group.promptTokens(), group.completionTokens());
    const int cached = group.cachedTokens();
    usage["prompt_tokens_details"] = nullptr;
    if (context.dialect.isOld()) {
        if (context.options.promptTokensDetails && cached > 0)
            usage["prompt_tokens_details"] = Json{{"cached_tokens", cached}};
        return usage;
    }
    if (context.options.promptTokensDetails) {
        usage["prompt_tokens_details"] = Json{
            {"cached_tokens", cached}, {"created_cache_tokens", nullptr}, {"multimodal_tokens", nullptr}};
    }
    usage["completion_tokens_details"] = nullptr;
    if (reasoningTokens >= 0)
        usage["completion_tokens_details"] = Json{{"reasoning_tokens", reasoningTokens}};
    return usage;
}

Json finalStreamUsage(const ServingContext &context, const GenerationGroup &group, int reasoningTokens)
{
    Json usage = counts(group.promptTokens(), group.completionTokens());
    const int cached = group.cachedTokens();
    if (context.options.promptTokensDetails && (cached > 0 || !context.dialect.isOld()))
        usage["prompt_tokens_details"] = Json{{"cached_tokens", cached}};
    if (reasoningTokens >= 0 && !context.dialect.isOld())
        usage["completion_tokens_details"] = Json{{"reasoning_tokens", reasoningTokens}};
    return usage;
}

Json runningUsage(const GenerationGroup &group, int choice, bool beforeFirst)
{
    return counts(group.promptTokensOf(choice), beforeFirst ? 0 : group.completionTokensOf(choice));
}

const char *finishReasonText(FinishReason reason)
{
    switch (reason) {
    case FinishReason::Stop:
        return "stop";
    case FinishReason::Length:
        return "length";
    case FinishReason::Abort:
        return "abort";
    }
    return "abort";
}

Json stopReason(const Finish &finish)
{
    if (finish.stopString)
        return *finish.stopString;
    if (finish.stopToken)
        return *finish.stopToken;
    return nullptr;
}

Json tokenIds(const std::vector<TokenOutput> &tokens)
{
    Json ids = Json::array();
    for (const TokenOutput &token : tokens)
        ids.push_back(token.token);
    return ids;
}

} // namespace engine
