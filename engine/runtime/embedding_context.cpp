#include "engine/runtime/embedding_context.h"

#include "engine/runtime/host_resources.h"
#include <llama.h>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

cluster::Result<std::unique_ptr<EmbeddingContext>> EmbeddingContext::create(const LanguageModel &model,
                                                                            const RunnerOptions &options)
{
    if (!model.facts().isEmbeddingModel)
        return fail(ErrorCode::FailedPrecondition, "the model has no pooling layer and gives no embeddings");
    std::unique_ptr<EmbeddingContext> made(new EmbeddingContext);
    made->m_model = &model;
    const auto length = static_cast<uint32_t>(model.facts().maxModelLen);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = length;
    params.n_batch = length; // an input must be seen whole: attention goes both ways
    params.n_ubatch = length;
    params.n_seq_max = 1;
    params.n_threads = options.threads > 0 ? options.threads : defaultThreads();
    params.n_threads_batch = params.n_threads;
    params.embeddings = true;
    made->m_context = llama_init_from_model(model.handle(), params);
    if (made->m_context == nullptr)
        return fail(ErrorCode::ResourceExhausted,
                    "llama.cpp got no memory for embeddings; lower --max-model-len");
    return made;
}

EmbeddingContext::~EmbeddingContext()
{
    if (m_context != nullptr)
        llama_free(m_context);
}

cluster::Result<std::vector<float>> EmbeddingContext::embed(const std::vector<TokenId> &tokens)
{
    const auto limit = static_cast<std::size_t>(m_model->facts().maxModelLen);
    if (tokens.empty() || tokens.size() > limit)
        return fail(ErrorCode::InvalidArgument,
                    "an embedding takes 1 to " + std::to_string(limit) + " tokens, not "
                        + std::to_string(tokens.size()));
    llama_batch batch = llama_batch_init(static_cast<int>(tokens.size()), 0, 1);
    batch.n_tokens = static_cast<int>(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        batch.token[i] = tokens[i];
        batch.pos[i] = static_cast<llama_pos>(i);
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    llama_memory_t memory = llama_get_memory(m_context);
    if (memory != nullptr)
        llama_memory_clear(memory, false);
    const int status = memory != nullptr ? llama_decode(m_context, batch) : llama_encode(m_context, batch);
    llama_batch_free(batch);
    if (status != 0)
        return fail(status == -1 ? ErrorCode::InvalidArgument : ErrorCode::Internal,
                    "llama.cpp refused the embedding batch (code " + std::to_string(status) + ")");
    const float *const vector = llama_get_embeddings_seq(m_context, 0);
    if (vector == nullptr)
        return fail(ErrorCode::Internal, "llama.cpp gave no pooled embedding");
    return std::vector<float>(vector, vector + llama_model_n_embd_out(m_model->handle()));
}

} // namespace engine
