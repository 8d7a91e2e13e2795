#include "engine/runtime/llama_grammar.h"

#include <cmath>
#include <limits>
#include <llama.h>

namespace engine {

namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

class LlamaGrammar final : public Grammar
{
public:
    explicit LlamaGrammar(llama_sampler *sampler) : m_sampler(sampler) {}
    ~LlamaGrammar() override { llama_sampler_free(m_sampler); }
    LlamaGrammar(const LlamaGrammar &) = delete;
    LlamaGrammar &operator=(const LlamaGrammar &) = delete;

    bool allows(TokenId token) override
    {
        llama_token_data one{token, 0.0F, 0.0F};
        llama_token_data_array candidates{&one, 1, -1, false};
        llama_sampler_apply(m_sampler, &candidates);
        return candidates.size == 1 && std::isfinite(one.logit);
    }

    void mask(std::span<float> logits) override
    {
        m_candidates.clear();
        for (TokenId token = 0; static_cast<std::size_t>(token) < logits.size(); ++token) {
            if (logits[static_cast<std::size_t>(token)] != impossible)
                m_candidates.push_back({token, logits[static_cast<std::size_t>(token)], 0.0F});
        }
        llama_token_data_array all{m_candidates.data(), m_candidates.size(), -1, false};
        llama_sampler_apply(m_sampler, &all);
        for (std::size_t i = 0; i < all.size; ++i)
            logits[static_cast<std::size_t>(all.data[i].id)] = all.data[i].logit;
    }

    void accept(TokenId token) override
    {
        try { // libllama throws when a token does not fit; allows() has seen to that
            llama_sampler_accept(m_sampler, token);
        } catch (const std::exception &) {
            m_candidates.clear();
        }
    }

private:
    llama_sampler *m_sampler;
    std::vector<llama_token_data> m_candidates;
};

} // namespace

cluster::Result<std::unique_ptr<Grammar>> parseGrammar(const std::string &gbnf,
                                                       const TokenVocabulary &vocabulary)
{
    llama_sampler *sampler = nullptr;
    try {
        sampler = llama_sampler_init_grammar(vocabulary.handle(), gbnf.c_str(), "root");
    } catch (const std::exception &error) {
        return cluster::fail(cluster::ErrorCode::InvalidArgument,
                             std::string("the grammar is not valid: ") + error.what());
    }
    if (sampler == nullptr)
        return cluster::fail(cluster::ErrorCode::InvalidArgument,
                             "the grammar is not valid GBNF, or has no rule named root");
    return std::make_unique<LlamaGrammar>(sampler);
}

} // namespace engine
