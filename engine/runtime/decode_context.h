#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/language_model.h"
#include <atomic>

struct llama_context;

namespace engine {

/// A model with a cache for many sequences in one pool. Threads: one, except interrupt().
class DecodeContext final : public Decoder
{
public:
    /// Errors: ResourceExhausted if libllama can't get its memory.
    static cluster::Result<std::unique_ptr<DecodeContext>> create(const LanguageModel &model,
                                                                  const RunnerOptions &options);
    ~DecodeContext() override;
    DecodeContext(const DecodeContext &) = delete;
    DecodeContext &operator=(const DecodeContext &) = delete;

    DecodeStatus decode(std::span<const BatchRow> rows) override;
    [[nodiscard]] std::span<const float> logits(int row) override;
    void copySequence(int from, int to, int begin, int end) override;
    void removeSequence(int sequence, int begin, int end) override;
    [[nodiscard]] int maxRows() const override { return m_maxRows; }
    [[nodiscard]] int maxOutputs() const override { return m_maxOutputs; }
    [[nodiscard]] int sequenceLimit() const override { return m_sequenceLimit; }
    [[nodiscard]] std::int64_t cellCount() const override { return m_cellCount; }
    [[nodiscard]] bool canShare() const override { return m_canShare; }

    /// Makes the decode() that is running (or the next one) return Aborted soon; for the end of the process.
    /// Any thread.
    void interrupt() { m_interrupted = true; }

private:
    struct Batch;
    DecodeContext();

    llama_context *m_context = nullptr;
    std::unique_ptr<Batch> m_batch;
    std::atomic<bool> m_interrupted = false;
    int m_vocabularySize = 0;
    int m_maxRows = 0;
    int m_maxOutputs = 0;
    int m_sequenceLimit = 0;
    std::int64_t m_cellCount = 0;
    bool m_canShare = true;
};

} // namespace engine
