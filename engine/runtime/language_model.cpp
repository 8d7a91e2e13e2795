#include "engine/runtime/language_model.h"

#include "engine/runtime/cpu_kernels.h"
#include "engine/runtime/host_resources.h"
#include <algorithm>
#include <filesystem>
#include <ggml-backend.h>
#include <ggml-rpc.h>
#include <llama.h>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

namespace {

constexpr std::int64_t mebibyte = 1024 * 1024;
constexpr std::int64_t computeReserveBytes = 128 * mebibyte; ///< Graph buffers and the process itself.

std::string inMebibytes(std::int64_t bytes)
{
    return std::to_string(bytes / mebibyte) + " MiB";
}

/// The devices for the layers, in the order of use; empty for the local default.
cluster::Result<std::vector<ggml_backend_dev_t>> remoteDevices(const std::vector<std::string> &endpoints)
{
    std::vector<ggml_backend_dev_t> devices;
    for (const std::string &endpoint : endpoints) {
        ggml_backend_reg_t remote = ggml_backend_rpc_add_server(endpoint.c_str());
        if (remote == nullptr || ggml_backend_reg_dev_count(remote) == 0)
            return fail(ErrorCode::Unavailable, "worker " + endpoint + " offers no device; restart it");
        for (std::size_t i = 0; i < ggml_backend_reg_dev_count(remote); ++i)
            devices.push_back(ggml_backend_reg_dev_get(remote, i));
    }
    return devices;
}

bool onProgress(float fraction, void *handler)
{
    (*static_cast<const LanguageModel::Progress *>(handler))(static_cast<double>(fraction));
    return true;
}

cluster::Status checkFile(const RunnerOptions &options)
{
    std::error_code error;
    const auto size = std::filesystem::file_size(options.modelPath, error);
    if (error)
        return fail(ErrorCode::NotFound, "model file " + options.modelPath + ": " + error.message());
    const std::int64_t available = availableMemoryBytes();
    const auto needed = static_cast<std::int64_t>(size) + computeReserveBytes;
    if (available >= 0 && needed > available && options.rpcEndpoints.empty() && options.gpuLayers == 0)
        return fail(ErrorCode::ResourceExhausted,
                    "not enough memory for " + options.modelPath + ": its weights need " + inMebibytes(needed)
                        + ", " + inMebibytes(available)
                        + " are available; close programs or take a smaller model");
    return {};
}

} // namespace

cluster::Result<std::unique_ptr<LanguageModel>> LanguageModel::load(const RunnerOptions &options,
                                                                    const Progress &progress)
{
    if (auto checked = checkFile(options); !checked)
        return tl::unexpected(checked.error());
    llama_backend_init();
    offerCpuKernels();
    auto devices = remoteDevices(options.rpcEndpoints);
    if (!devices)
        return tl::unexpected(devices.error());
    llama_model_params params = llama_model_default_params();
    params.check_tensors = options.checkTensors;
    params.n_gpu_layers = options.gpuLayers;
    std::vector<float> split;
    if (!devices->empty()) {
        // Equal parts: workers on one host all report the memory of that
        // host.
        split.assign(std::max(llama_max_devices(), devices->size()), 0.0F);
        std::fill_n(split.begin(), devices->size(), 1.0F);
        devices->push_back(nullptr);
        params.devices = devices->data();
        params.split_mode = LLAMA_SPLIT_MODE_LAYER;
        params.tensor_split = split.data();
        // So many of the last layers go to the workers; fewer than all when the first stage stays here.
        params.n_gpu_layers = options.gpuLayers > 0 ? options.gpuLayers : -1;
    }
    if (progress) {
        params.progress_callback = onProgress;
        params.progress_callback_user_data
            = const_cast<Progress *>(&progress); // only read, through onProgress
    }
    std::unique_ptr<LanguageModel> model(new LanguageModel);
    model->m_model = llama_model_load_from_file(options.modelPath.c_str(), params);
    if (model->m_model == nullptr)
        return fail(
            ErrorCode::DataLoss,
            "llama.cpp can't load " + options.modelPath
                + ": the file is damaged or of a kind it does not know; see the lines above, and verify its "
                  "checksum");
    model->m_vocabulary = std::make_unique<TokenVocabulary>(llama_model_get_vocab(model->m_model));
    for (std::size_t i = 0; i + 1 < devices->size(); ++i)
        model->m_facts.device += (i > 0 ? ", " : "") + std::string(ggml_backend_dev_name((*devices)[i]));
    if (auto read = model->readFacts(options); !read)
        return tl::unexpected(read.error());
    if (auto chosen = model->chooseContext(options); !chosen)
        return tl::unexpected(chosen.error());
    return model;
}

LanguageModel::~LanguageModel()
{
    if (m_model != nullptr)
        llama_model_free(m_model);
}

std::string LanguageModel::metadata(const std::string &key) const
{
    std::string value(256, '\0');
    const int length = llama_model_meta_val_str(m_model, key.c_str(), value.data(), value.size());
    value.resize(static_cast<std::size_t>(std::clamp(length, 0, 255)));
    return value;
}

cluster::Status LanguageModel::readFacts(const RunnerOptions &options)
{
    const llama_vocab *vocabulary = m_vocabulary->handle();
    m_facts.architecture = metadata("general.architecture");
    m_facts.vocabularySize = m_vocabulary->size();
    m_facts.trainedContext = llama_model_n_ctx_train(m_model);
    m_facts.layerCount = llama_model_n_layer(m_model);
    m_facts.headCount = llama_model_n_head(m_model);
    m_facts.kvHeadCount = llama_model_n_head_kv(m_model);
    m_facts.embeddingSize = llama_model_n_embd(m_model);
    m_facts.parameterCount = static_cast<std::int64_t>(llama_model_n_params(m_model));
    m_facts.sizeBytes = static_cast<std::int64_t>(llama_model_size(m_model));
    const char *const own = llama_model_chat_template(m_model, nullptr);
    m_facts.chatTemplate = !options.chatTemplate.empty() ? options.chatTemplate : own != nullptr ? own : "";
    m_facts.hasChatTemplate = !m_facts.chatTemplate.empty();
    const std::string pooling = metadata(m_facts.architecture + ".pooling_type");
    m_facts.isEmbeddingModel = !pooling.empty() && pooling != "0";
    m_facts.bosToken = llama_vocab_bos(vocabulary);
    m_facts.eosToken = llama_vocab_eos(vocabulary);
    m_facts.addsBos = llama_vocab_get_add_bos(vocabulary);
    m_recurrent = llama_model_is_recurrent(m_model) || llama_model_is_hybrid(m_model);
    if (m_facts.device.empty()) {
        const bool offloaded = options.gpuLayers != 0;
        ggml_backend_dev_t gpu = offloaded ? ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) : nullptr;
        m_facts.device = gpu != nullptr ? ggml_backend_dev_name(gpu) : "CPU";
    }
    if (m_facts.vocabularySize == 0 || m_facts.trainedContext <= 0 || m_facts.layerCount <= 0)
        return fail(ErrorCode::DataLoss, options.modelPath + " has no vocabulary, context or layers");
    const std::string keys = metadata(m_facts.architecture + ".attention.key_length");
    const std::string values = metadata(m_facts.architecture + ".attention.value_length");
    const std::int64_t headSize = m_facts.headCount > 0 ? m_facts.embeddingSize / m_facts.headCount : 0;
    const std::int64_t keySize = keys.empty() ? headSize : std::atoll(keys.c_str());
    const std::int64_t valueSize = values.empty() ? headSize : std::atoll(values.c_str());
    m_cacheBytesPerToken = 2 * (keySize + valueSize) * m_facts.kvHeadCount * m_facts.layerCount;
    return {};
}

cluster::Status LanguageModel::chooseContext(const RunnerOptions &options)
{
    m_facts.maxModelLen = options.maxModelLen > 0 ? options.maxModelLen : m_facts.trainedContext;
    if (m_facts.maxModelLen > m_facts.trainedContext)
        return fail(ErrorCode::InvalidArgument,
                    "--max-model-len " + std::to_string(m_facts.maxModelLen)
                        + " is greater than the model's context of " + std::to_string(m_facts.trainedContext)
                        + " tokens");
    if (m_facts.isEmbeddingModel)
        return {};
    constexpr std::int64_t pageCells = 256; // libllama rounds the pool up to this
    constexpr std::int64_t defaultPool
        = 16384; // enough for a few long or many short requests, small in memory
    std::int64_t cells = options.kvCacheTokens;
    const std::int64_t everyone
        = static_cast<std::int64_t>(m_facts.maxModelLen) * std::max(1, options.maxNumSeqs);
    if (cells <= 0)
        cells = std::min(everyone, std::max<std::int64_t>(m_facts.maxModelLen, defaultPool));
    cells = std::max<std::int64_t>(cells, m_facts.maxModelLen); // one request must always fit
    cells = (cells + pageCells - 1) / pageCells * pageCells;
    m_facts.kvCacheTokens = cells;
    const std::int64_t needed = cells * m_cacheBytesPerToken + computeReserveBytes;
    const std::int64_t available = availableMemoryBytes();
    if (available >= 0 && needed > available && options.rpcEndpoints.empty() && options.gpuLayers == 0)
        return fail(ErrorCode::ResourceExhausted,
                    "not enough memory for a key-value cache of " + std::to_string(cells)
                        + " tokens: it needs " + inMebibytes(needed) + ", " + inMebibytes(available)
                        + " are available; lower --max-model-len or --max-num-seqs");
    return {};
}

} // namespace engine
