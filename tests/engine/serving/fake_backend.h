#pragma once

#include "engine/protocol/backend.h"
#include <atomic>
#include <map>

namespace boost::asio {
class io_context;
}

/// An engine made of words: tokens are numbers of words, answers are "w1 w2 …". Belongs to the io_context's
/// thread; the counters may be read from anywhere.
class FakeBackend : public engine::Backend
{
public:
    explicit FakeBackend(boost::asio::io_context &io);

    engine::BackendState state() const override { return stateNow; }
    std::string stateMessage() const override { return "the runner was lost (signal 6)"; }
    const engine::ModelFacts &facts() const override { return modelFacts; }
    engine::RunnerStats stats() const override { return {}; }
    void generate(engine::GenerateRequest request, GenerationHandler handler) override;
    void cancel(engine::RequestId id) override;
    void renderChat(engine::ChatPromptRequest request, Reply<engine::Prompt> reply) override;
    void tokenize(engine::TextPromptRequest request, Reply<engine::Prompt> reply) override;
    void detokenize(std::vector<engine::TokenId> tokens, Reply<std::string> reply) override;
    void compileGrammar(engine::GrammarRequest request, Reply<std::string> reply) override;
    void embed(engine::EmbeddingRequest request, Reply<std::vector<float>> reply) override;
    void onStats(std::function<void(const engine::RunnerStats &)> handler) override;

    engine::BackendState stateNow = engine::BackendState::Ready;
    engine::ModelFacts modelFacts;
    std::string wordEnd = " ";
    std::atomic<bool> endless = false; ///< Answers go on until they are cancelled.
    std::atomic<bool> silent = false; ///< No token comes.
    std::atomic<int> failAfter = -1; ///< The runner is lost after so many tokens.
    std::atomic<int> running = 0;
    std::atomic<int> cancelled = 0;
    std::atomic<int> tokensMade = 0;

private:
    struct Job
    {
        engine::GenerateRequest request;
        GenerationHandler handler;
        int made = 0;
    };

    void step(engine::RequestId id);

    boost::asio::io_context &m_io;
    std::map<engine::RequestId, Job> m_jobs;
};
