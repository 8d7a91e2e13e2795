#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/token_vocabulary.h"
#include <functional>
#include <memory>

struct llama_model;

namespace engine {

/// The weights of a GGUF model, loaded. Const; contexts (decoding, embedding) are made over it and must die
/// first.
///
/// Errors: ResourceExhausted if weights and cache do not fit the memory, NotFound for a missing file,
/// DataLoss for one
///         that libllama refuses, InvalidArgument for options that the model does not allow.
/// Fatal:  libllama aborts the process on some files; load in a process of its own.
class LanguageModel
{
public:
    using Progress = std::function<void(double)>; ///< 0 to 1.
    static cluster::Result<std::unique_ptr<LanguageModel>> load(const RunnerOptions &options,
                                                                const Progress &progress);

    ~LanguageModel();
    LanguageModel(const LanguageModel &) = delete;
    LanguageModel &operator=(const LanguageModel &) = delete;

    [[nodiscard]] const ModelFacts &facts() const { return m_facts; }
    [[nodiscard]] const TokenVocabulary &vocabulary() const { return *m_vocabulary; }
    [[nodiscard]] llama_model *handle() const { return m_model; }
    [[nodiscard]] bool isRecurrent() const { return m_recurrent; }
    /// Bytes of key-value cache for one token, all layers.
    [[nodiscard]] std::int64_t cacheBytesPerToken() const { return m_cacheBytesPerToken; }

private:
    LanguageModel() = default;
    [[nodiscard]] cluster::Status readFacts(const RunnerOptions &options);
    [[nodiscard]] cluster::Status chooseContext(const RunnerOptions &options);
    [[nodiscard]] std::string metadata(const std::string &key) const;

    llama_model *m_model = nullptr;
    std::unique_ptr<TokenVocabulary> m_vocabulary;
    ModelFacts m_facts;
    std::int64_t m_cacheBytesPerToken = 0;
    bool m_recurrent = false;
};

} // namespace engine
