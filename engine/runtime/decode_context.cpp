#include "engine/runtime/decode_context.h"

#include "engine/runtime/host_resources.h"
#include <algorithm>
#include <llama.h>

namespace engine {

namespace {

constexpr int minOutputs = 64; ///< Rows with logits in one step: what prompt log-probabilities are read in.
constexpr int maxUbatch = 512; ///< libllama's own default; more costs memory and gains nothing on a CPU.

} // namespace

struct DecodeContext::Batch
{
    explicit Batch(int rows) : value(llama_batch_init(rows, 0, 1)) {}
    ~Batch() { llama_batch_free(value); }
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;

    llama_batch value;
};

DecodeContext::DecodeContext() = default;

cluster::Result<std::unique_ptr<DecodeContext>> DecodeContext::create(const LanguageModel &model,
                                                                      const RunnerOptions &options)
{
    std::unique_ptr<DecodeContext> made(new DecodeContext);
    const int threads = options.threads > 0 ? options.threads : defaultThreads();
    made->m_maxRows = std::max({options.maxNumBatchedTokens, options.maxNumSeqs, minOutputs});
    made->m_maxOutputs = std::max(options.maxNumSeqs, minOutputs);
    made->m_vocabularySize = model.vocabulary().size();
    made->m_canShare = !model.isRecurrent();
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(model.facts().kvCacheTokens);
    params.n_batch = static_cast<uint32_t>(made->m_maxRows);
    params.n_ubatch = static_cast<uint32_t>(std::min(made->m_maxRows, maxUbatch));
    params.n_seq_max = static_cast<uint32_t>(std::max(1, options.maxNumSeqs));
    params.n_outputs_max = static_cast<uint32_t>(made->m_maxOutputs);
    params.n_threads = threads;
    params.n_threads_batch = threads;
    params.kv_unified = true; // one pool: prefixes are shared by marking cells, not by copying them
    params.swa_full = true; // a sliding window would lose the old cells that others want to share
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
    params.abort_callback = [](void *flag) { return static_cast<std::atomic<bool> *>(flag)->load(); };
    params.abort_callback_data = &made->m_interrupted;
    made->m_context = llama_init_from_model(model.handle(), params);
    if (made->m_context == nullptr)
        return cluster::fail(cluster::ErrorCode::ResourceExhausted,
                             "llama.cpp got no memory for a cache of "
                                 + std::to_string(model.facts().kvCacheTokens)
                                 + " tokens; lower --max-model-len or --max-num-seqs");
    made->m_cellCount = llama_n_ctx(made->m_context);
    // A unified pool takes every sequence number below the library's limit, whatever n_seq_max is.
    made->m_sequenceLimit = made->m_canShare ? static_cast<int>(llama_max_parallel_sequences())
                                             : std::max(1, options.maxNumSeqs);
    made->m_batch = std::make_unique<Batch>(made->m_maxRows);
    return made;
}

DecodeContext::~DecodeContext()
{
    if (m_context != nullptr)
        llama_free(m_context);
}

DecodeStatus DecodeContext::decode(std::span<const BatchRow> rows)
{
    if (rows.empty() || rows.size() > static_cast<std::size_t>(m_maxRows)) // libllama would abort the process
        return DecodeStatus::Failed;
    llama_batch &batch = m_batch->value;
    batch.n_tokens = static_cast<int>(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        batch.token[i] = rows[i].token;
        batch.pos[i] = rows[i].position;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = rows[i].sequence;
        batch.logits[i] = rows[i].wantsLogits ? 1 : 0;
    }
    switch (llama_decode(m_context, batch)) {
    case 0:
        return DecodeStatus::Done;
    case 1:
        return DecodeStatus::CacheFull;
    case 2:
        return DecodeStatus::Aborted;
    default:
        return DecodeStatus::Failed;
    }
}

std::span<const float> DecodeContext::logits(int row)
{
    const float *const values = llama_get_logits_ith(m_context, row);
    return values == nullptr ? std::span<const float>()
                             : std::span(values, static_cast<std::size_t>(m_vocabularySize));
}

void DecodeContext::copySequence(int from, int to, int begin, int end)
{
    llama_memory_seq_cp(llama_get_memory(m_context), from, to, begin, end);
}

void DecodeContext::removeSequence(int sequence, int begin, int end)
{
    llama_memory_seq_rm(llama_get_memory(m_context), sequence, begin, end);
}

} // namespace engine
