#pragma once

#include "engine/runner/outbox.h"
#include "engine/runtime/decode_context.h"
#include "engine/runtime/embedding_context.h"
#include "engine/scheduler/scheduler.h"
#include <condition_variable>
#include <set>
#include <thread>

namespace engine {

/// The thread that owns libllama's context: runs the scheduler's steps and computes embeddings.
/// Threads: submit(), cancel() and embed() from the I/O thread; answers go to the outbox.
class DecodeLoop final : private Scheduler::Listener
{
public:
    /// Makes the context (decoding or embedding, as the model is) and starts the thread.
    static cluster::Result<std::unique_ptr<DecodeLoop>> start(const LanguageModel &model,
                                                              const RunnerOptions &options, Outbox &outbox);
    ~DecodeLoop() override; ///< Interrupts the step that runs and ends the thread.
    DecodeLoop(const DecodeLoop &) = delete;
    DecodeLoop &operator=(const DecodeLoop &) = delete;

    void submit(GenerateRequest request, std::unique_ptr<Sampler> sampler);
    void cancel(RequestId id);
    void embed(CallId call, EmbeddingRequest request);
    [[nodiscard]] bool generates() const { return m_decoder != nullptr; }

private:
    struct Submission
    {
        GenerateRequest request;
        std::unique_ptr<Sampler> sampler;
    };
    struct Embedding
    {
        CallId call = 0;
        EmbeddingRequest request;
    };
    using Order = std::variant<Submission, CancelRequest, Embedding>;

    explicit DecodeLoop(Outbox &outbox) : m_outbox(outbox) {}
    void add(Order order);
    void run();
    [[nodiscard]] bool takeOrders();
    void carryOut(Order order);
    void compute(const Embedding &embedding);
    void reportStats(bool isIdle);
    void onEvent(GenerationEvent event) override { m_outbox.add(std::move(event)); }
    void onFailure(RequestFailure failure) override { m_outbox.add(std::move(failure)); }

    Outbox &m_outbox;
    std::unique_ptr<DecodeContext> m_decoder;
    std::unique_ptr<EmbeddingContext> m_embedder;
    std::unique_ptr<Scheduler> m_scheduler; // decode thread only, as are the contexts
    Seconds m_lastStats{};

    std::mutex m_mutex; // guards the three below
    std::condition_variable m_ordered;
    std::vector<Order> m_orders;
    std::set<RequestId> m_embeddings; ///< Those that wait and are still wanted.
    bool m_ending = false;
    std::thread m_thread;
};

} // namespace engine
