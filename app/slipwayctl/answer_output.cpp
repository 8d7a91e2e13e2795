#include "app/slipwayctl/answer_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace slipwayctl {

namespace {

using Json = nlohmann::ordered_json;
using cluster::Answer;
using Duration = cluster::AnswerTimings::Duration;

double milliseconds(Duration duration)
{
    return std::chrono::duration<double, std::milli>(duration).count();
}

Json inMilliseconds(const std::optional<Duration> &duration)
{
    return duration ? Json(milliseconds(*duration)) : Json();
}

Json toJson(const cluster::AnswerChoice &choice)
{
    Json json = {{"content", choice.content}};
    if (!choice.reasoning.empty())
        json["reasoning"] = choice.reasoning;
    if (!choice.toolCalls.empty())
        json["tool_calls"] = Json::array();
    for (const cluster::ToolCall &call : choice.toolCalls)
        json["tool_calls"].push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
    json["finish_reason"] = choice.finishReason.empty() ? Json() : Json(choice.finishReason);
    return json;
}

Json toJson(const Answer &answer)
{
    Json json = {{"id", answer.id}, {"model", answer.model}};
    json["answer"] = answer.choices.empty() ? "" : answer.choices.front().content;
    json["choices"] = Json::array();
    for (const cluster::AnswerChoice &choice : answer.choices)
        json["choices"].push_back(toJson(choice));
    json["usage"] = Json();
    if (answer.usage)
        json["usage"] = {{"prompt_tokens", answer.usage->promptTokens},
                         {"completion_tokens", answer.usage->completionTokens},
                         {"total_tokens", answer.usage->totalTokens}};
    const auto speed = answer.tokensPerSecond();
    json["timings"] = {{"ttft_ms", inMilliseconds(answer.timings.firstToken)},
                       {"first_answer_token_ms", inMilliseconds(answer.timings.firstAnswerToken)},
                       {"tpot_ms", inMilliseconds(answer.timePerOutputToken())},
                       {"tokens_per_second", speed ? Json(*speed) : Json()},
                       {"total_ms", milliseconds(answer.timings.total)}};
    return json;
}

std::string measurements(const Answer &answer)
{
    char text[160];
    std::string line;
    if (answer.usage)
        line += std::to_string(answer.usage->promptTokens) + " + "
            + std::to_string(answer.usage->completionTokens) + " tokens";
    if (answer.timings.firstToken) {
        std::snprintf(text, sizeof text, "%sTTFT %.0f ms", line.empty() ? "" : ", ",
                      milliseconds(*answer.timings.firstToken));
        line += text;
    }
    const auto tpot = answer.timePerOutputToken();
    const auto speed = answer.tokensPerSecond();
    if (tpot && speed) {
        std::snprintf(text, sizeof text, ", TPOT %.1f ms, %.1f tokens/s", milliseconds(*tpot), *speed);
        line += text;
    }
    for (const cluster::AnswerChoice &choice : answer.choices) {
        if (choice.finishReason == "length")
            line += ", ended by the token limit";
    }
    return line;
}

} // namespace

void addGenerationOptions(CLI::App &command, GenerationOptions &options)
{
    cluster::SamplingParameters &sampling = options.sampling;
    command.add_option("--temperature", sampling.temperature, "0: always the likeliest token");
    command.add_option("--top-p", sampling.topP, "least share of probability to choose from");
    command.add_option("--top-k", sampling.topK, "number of tokens to choose from");
    command.add_option("--min-p", sampling.minP, "least probability, as a share of the likeliest token's");
    command.add_option("--presence-penalty", sampling.presencePenalty, "-2 to 2");
    command.add_option("--frequency-penalty", sampling.frequencyPenalty, "-2 to 2");
    command.add_option("--repetition-penalty", sampling.repetitionPenalty, "over 1: fewer repetitions");
    command.add_option("--max-tokens", sampling.maxTokens, "longest answer");
    command.add_option("--seed", sampling.seed, "makes sampling repeatable");
    command.add_option("--stop", sampling.stop, "text that ends the answer; may be given more than once");
    command.add_option("--extra", options.extraJson, "a JSON object whose members are added to the request");
    command.add_flag("--show-reasoning", options.showsReasoning,
                     "print the reasoning too, on standard error");
}

AnswerOutput::AnswerOutput(CommandContext &context, bool showsReasoning)
    : m_context(context), m_showsReasoning(showsReasoning)
{
}

cluster::StreamHandlers AnswerOutput::handlers(cluster::CancelSource &cancel)
{
    cluster::StreamHandlers handlers;
    if (m_context.wantsJson)
        return handlers;
    handlers.onChunk = [this, cancel](const cluster::AnswerChunk &chunk) mutable {
        for (const cluster::ChoiceDelta &delta : chunk.choices) {
            if (delta.index == 0)
                show(delta);
        }
        if (m_isReaderGone)
            cancel.request_stop();
    };
    return handlers;
}

void AnswerOutput::show(const cluster::ChoiceDelta &delta)
{
    if (m_showsReasoning && !delta.reasoning.empty()) {
        m_isReasoning = true;
        std::fputs(delta.reasoning.c_str(), stderr);
    }
    if (delta.content.empty())
        return;
    if (std::exchange(m_isReasoning, false))
        std::fputs("\n\n", stderr);
    m_hasText = true;
    m_isReaderGone = !print(delta.content) || m_isReaderGone;
}

void AnswerOutput::finish(const cluster::AnswerOutcome &outcome)
{
    m_context.exitStatus = exitSuccess;
    if (m_isReaderGone)
        return; // | head: the reader has what it wanted
    if (m_context.wantsJson) {
        Json json = toJson(outcome.answer);
        if (!outcome.status) {
            json["error"] = slipwayctl::toJson(outcome.status.error());
            const bool isInterrupted = outcome.status.error().code == cluster::ErrorCode::Cancelled;
            m_context.exitStatus = isInterrupted ? exitInterrupted : exitFailure;
        }
        printJson(json);
        return;
    }
    if (m_hasText)
        print("\n");
    for (const cluster::AnswerChoice &choice : outcome.answer.choices) {
        for (const cluster::ToolCall &call : choice.toolCalls)
            print("tool call: " + call.name + "(" + call.arguments + ")\n");
    }
    if (!outcome.status)
        report(m_context, outcome.status.error());
    else
        remark(m_context, measurements(outcome.answer));
}

} // namespace slipwayctl
