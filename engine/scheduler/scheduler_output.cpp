#include "engine/runtime/logprobs.h"
#include "engine/scheduler/scheduler.h"
#include <algorithm>

namespace engine {

void Scheduler::finishChunk(const Chunk &chunk)
{
    ActiveRequest &request = *chunk.request;
    const bool wasPrompt = request.outputCount == 0 || chunk.count > 1;
    request.computed += chunk.count;
    m_privateCells += chunk.count;
    if (request.readsPromptLogits())
        readPromptLogits(request, chunk);
    if (wasPrompt)
        publish(request);
    if (request.owed() == 0)
        takeToken(request, chunk.firstRow + chunk.count - 1);
}

void Scheduler::readPromptLogits(ActiveRequest &request, const Chunk &chunk)
{
    if (request.promptTokens.empty()) {
        const TokenId first = request.tokens.front();
        request.promptTokens.push_back({first, m_vocabulary.piece(first), std::nullopt, {}});
    }
    for (int row = chunk.firstRow; row < chunk.firstRow + chunk.count; ++row) {
        const std::size_t next = request.promptTokens.size();
        if (next >= static_cast<std::size_t>(request.promptLength()))
            return;
        request.promptTokens.push_back(describeToken(request.tokens[next], m_decoder.logits(row),
                                                     request.request.sampling.promptLogprobs, m_vocabulary));
    }
}

void Scheduler::takeToken(ActiveRequest &request, int row)
{
    const SamplingParams &params = request.request.sampling;
    const std::span<const float> logits = m_decoder.logits(row);
    const TokenId token = logits.empty() ? -1 : request.sampler->sample(logits, m_scratch);
    if (token < 0) {
        fail(request, "internal",
             "no next token is possible: the grammar has come to a dead end, or the model's numbers are "
             "broken");
        return;
    }
    GenerationEvent event;
    if (params.logprobs >= 0)
        event.tokens.push_back(describeToken(token, logits, params.logprobs, m_vocabulary));
    else
        event.tokens.push_back({token, m_vocabulary.piece(token), std::nullopt, {}});
    request.tokens.push_back(token);
    ++request.outputCount;
    request.times.lastToken = m_clock();
    if (request.outputCount == 1)
        request.times.firstToken = request.times.lastToken;
    event.finish = extendText(request, token, event.text);
    const bool isFinished = event.finish.has_value();
    send(request, std::move(event));
    if (isFinished) {
        vacate(request);
        removeRunning(request);
    }
}

std::optional<Finish> Scheduler::extendText(ActiveRequest &request, TokenId token, std::string &text)
{
    const SamplingParams &params = request.request.sampling;
    const bool isEnd = m_vocabulary.isEnd(token) && !params.ignoreEos;
    const bool isStop = std::find(params.stopTokenIds.begin(), params.stopTokenIds.end(), token)
        != params.stopTokenIds.end();
    const bool isHidden = params.skipSpecialTokens && m_vocabulary.isSpecial(token);
    const std::string piece = isHidden ? std::string() : m_vocabulary.piece(token);
    if (isEnd || isStop) {
        if (params.includeStopInOutput)
            text = request.text.pushUnsearched(piece);
        text += request.text.flush();
        Finish finish{FinishReason::Stop, std::nullopt, std::nullopt};
        if (!isEnd)
            finish.stopToken = token;
        return finish;
    }
    if (request.outputCount <= params.minTokens) {
        text = request.text.pushUnsearched(piece);
    } else {
        TextStream::Piece shown = request.text.push(piece);
        text = std::move(shown.text);
        if (shown.stop)
            return Finish{FinishReason::Stop, std::move(shown.stop), std::nullopt};
    }
    const bool isFull = static_cast<int>(request.tokens.size()) >= m_options.maxModelLen;
    if (request.outputCount < params.maxTokens && !isFull)
        return std::nullopt;
    text += request.text.flush();
    return Finish{FinishReason::Length, std::nullopt, std::nullopt};
}

void Scheduler::send(ActiveRequest &request, GenerationEvent event)
{
    event.id = request.request.id;
    event.times = request.times;
    event.preemptions = request.preemptions;
    if (!request.firstEventSent) {
        request.firstEventSent = true;
        event.cachedPromptTokens = request.cachedPromptTokens;
        event.promptTokens = std::move(request.promptTokens);
    }
    m_listener.onEvent(std::move(event));
}

void Scheduler::fail(ActiveRequest &request, const char *code, std::string message)
{
    m_listener.onFailure({request.request.id, code, std::move(message)});
    vacate(request);
    removeRunning(request);
}

void Scheduler::removeRunning(const ActiveRequest &request)
{
    std::erase_if(m_running, [&](const auto &running) { return running.get() == &request; });
}

} // namespace engine
