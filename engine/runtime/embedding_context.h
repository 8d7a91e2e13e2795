#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/language_model.h"

struct llama_context;

namespace engine {

/// Turns token sequences into vectors, pooled as the model says, not normalised. One thread only.
class EmbeddingContext
{
public:
    /// Errors: FailedPrecondition if the model has no pooling layer, ResourceExhausted without memory.
    static cluster::Result<std::unique_ptr<EmbeddingContext>> create(const LanguageModel &model,
                                                                     const RunnerOptions &options);
    ~EmbeddingContext();
    EmbeddingContext(const EmbeddingContext &) = delete;
    EmbeddingContext &operator=(const EmbeddingContext &) = delete;

    /// Errors: InvalidArgument for no tokens, unknown ones, or more than the model's length.
    cluster::Result<std::vector<float>> embed(const std::vector<TokenId> &tokens);

private:
    EmbeddingContext() = default;

    const LanguageModel *m_model = nullptr;
    llama_context *m_context = nullptr;
};

} // namespace engine
