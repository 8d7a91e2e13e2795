#include "fake_backend.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <sstream>

using namespace engine;

FakeBackend::FakeBackend(boost::asio::io_context &io) : m_io(io)
{
    modelFacts.vocabularySize = 1000;
    modelFacts.maxModelLen = 512;
    modelFacts.hasChatTemplate = true;
}

void FakeBackend::generate(GenerateRequest request, GenerationHandler handler)
{
    const RequestId id = request.id;
    m_jobs[id] = {std::move(request), std::move(handler), 0};
    ++running;
    boost::asio::post(m_io, [this, id] { step(id); });
}

void FakeBackend::step(RequestId id)
{
    const auto found = m_jobs.find(id);
    if (found == m_jobs.end() || silent)
        return;
    Job &job = found->second;
    if (failAfter >= 0 && job.made >= failAfter) {
        const auto handler = job.handler;
        m_jobs.erase(found);
        --running;
        handler(RequestFailure{id, "unavailable", "The engine process was lost."});
        return;
    }
    GenerationEvent event;
    event.id = id;
    ++job.made;
    ++tokensMade;
    event.text = "w" + std::to_string(job.made) + wordEnd;
    TokenOutput token;
    token.token = job.made;
    token.piece = event.text;
    event.tokens.push_back(token);
    if (!endless && job.made >= job.request.sampling.maxTokens)
        event.finish = Finish{FinishReason::Length, {}, {}};
    const auto handler = job.handler;
    if (event.finish) {
        m_jobs.erase(found);
        --running;
    } else {
        boost::asio::post(m_io, [this, id] { step(id); });
    }
    handler(event);
}

void FakeBackend::cancel(RequestId id)
{
    if (m_jobs.erase(id) > 0) {
        --running;
        ++cancelled;
    }
}

void FakeBackend::renderChat(ChatPromptRequest request, Reply<Prompt> reply)
{
    tokenize({request.messagesJson, false, true}, std::move(reply));
}

void FakeBackend::tokenize(TextPromptRequest request, Reply<Prompt> reply)
{
    Prompt prompt;
    prompt.text = request.text;
    std::istringstream words(request.text);
    for (std::string word; words >> word;) {
        prompt.tokens.push_back(static_cast<TokenId>(prompt.tokens.size() % 1000));
        prompt.pieces.push_back(word);
    }
    boost::asio::post(m_io, [reply = std::move(reply), prompt = std::move(prompt)] { reply(prompt); });
}

void FakeBackend::detokenize(std::vector<TokenId> tokens, Reply<std::string> reply)
{
    std::string text;
    for (const TokenId token : tokens)
        text += "w" + std::to_string(token) + " ";
    boost::asio::post(m_io, [reply = std::move(reply), text] { reply(text); });
}

void FakeBackend::compileGrammar(GrammarRequest request, Reply<std::string> reply)
{
    const bool bad = request.regex == "(";
    boost::asio::post(m_io, [reply = std::move(reply), bad] {
        if (bad)
            reply(cluster::fail(cluster::ErrorCode::InvalidArgument, "unclosed group"));
        else
            reply(std::string("root ::= \"x\""));
    });
}

void FakeBackend::embed(EmbeddingRequest, Reply<std::vector<float>> reply)
{
    boost::asio::post(m_io, [reply = std::move(reply)] { reply(std::vector<float>{3.0f, 4.0f}); });
}

void FakeBackend::onStats(std::function<void(const RunnerStats &)>) {}
