#include "engine/runtime/llama_grammar.h"

#include "../src/llama-grammar.h" // llama.cpp's own: its public interface does not show how many stacks there are
#include "engine/runtime/grammar_ambiguity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <llama.h>

namespace engine {

namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();
constexpr double mostAtStart = 4096; ///< Of an enum with so many values; the time grows with the square.
constexpr double workPerCharacter = 100'000;

class LlamaGrammar final : public Grammar
{
public:
    LlamaGrammar(llama_grammar *grammar, const llama_vocab *vocabulary, double perCharacter)
        : m_grammar(grammar), m_vocabulary(vocabulary),
          m_mostStacks(
              static_cast<std::size_t>(std::clamp(workPerCharacter / perCharacter, 16.0, mostAtStart)))
    {
    }
    ~LlamaGrammar() override { llama_grammar_free_impl(m_grammar); }
    LlamaGrammar(const LlamaGrammar &) = delete;
    LlamaGrammar &operator=(const LlamaGrammar &) = delete;

    bool allows(TokenId token) override
    {
        if (m_isDead)
            return false;
        llama_token_data one{token, 0.0F, 0.0F};
        llama_token_data_array candidates{&one, 1, -1, false};
        llama_grammar_apply_impl(*m_grammar, &candidates);
        return std::isfinite(one.logit);
    }

    void mask(std::span<float> logits) override
    {
        if (m_isDead) {
            std::ranges::fill(logits, impossible);
            return;
        }
        m_candidates.clear();
        for (TokenId token = 0; static_cast<std::size_t>(token) < logits.size(); ++token) {
            if (logits[static_cast<std::size_t>(token)] != impossible)
                m_candidates.push_back({token, logits[static_cast<std::size_t>(token)], 0.0F});
        }
        llama_token_data_array all{m_candidates.data(), m_candidates.size(), -1, false};
        llama_grammar_apply_impl(*m_grammar, &all);
        for (std::size_t i = 0; i < all.size; ++i)
            logits[static_cast<std::size_t>(all.data[i].id)] = all.data[i].logit;
    }

    /// Byte by byte, to see after each whether an ambiguous grammar has got out of hand.
    void accept(TokenId token) override
    {
        if (m_isDead || llama_vocab_is_eog(m_vocabulary, token))
            return;
        std::string piece(64, '\0');
        auto size = llama_token_to_piece(m_vocabulary, token, piece.data(), static_cast<int>(piece.size()), 0,
                                         true);
        if (size < 0) {
            piece.resize(static_cast<std::size_t>(-size));
            size = llama_token_to_piece(m_vocabulary, token, piece.data(), -size, 0, true);
        }
        piece.resize(static_cast<std::size_t>(std::max(size, 0)));
        try { // libllama throws when a token does not fit; allows() has seen to that
            for (std::size_t i = 0; !m_isDead && i < piece.size(); ++i) {
                llama_grammar_accept_str(*m_grammar, piece.substr(i, 1));
                m_isDead = stackCount() > m_mostStacks;
            }
        } catch (const std::exception &) {
            m_isDead = true;
        }
    }

private:
    [[nodiscard]] std::size_t stackCount() const { return llama_grammar_get_stacks(m_grammar).size(); }

    llama_grammar *m_grammar;
    const llama_vocab *m_vocabulary;
    std::size_t m_mostStacks;
    bool m_isDead = false; ///< Nothing more is allowed.
    std::vector<llama_token_data> m_candidates;
};

bool isToken(const llama_grammar_element &element)
{
    return element.type == LLAMA_GRETYPE_TOKEN || element.type == LLAMA_GRETYPE_TOKEN_NOT;
}

std::string tooAmbiguous()
{
    return "the grammar is too ambiguous: an output could be at more than "
        + std::to_string(static_cast<int>(mostAtStart))
        + " places of it at once; give it fewer alternatives, or ones that differ in their first characters";
}

} // namespace

cluster::Result<std::unique_ptr<Grammar>> parseGrammar(const std::string &gbnf,
                                                       const TokenVocabulary &vocabulary)
{
    using cluster::ErrorCode;
    const llama_vocab *const handle = vocabulary.handle();
    try {
        llama_grammar_parser parser(handle);
        const bool isRead = parser.parse(gbnf.c_str());
        const auto root = parser.symbol_ids.find("root");
        if (!isRead || root == parser.symbol_ids.end())
            return cluster::fail(ErrorCode::InvalidArgument,
                                 "the grammar is not valid GBNF, or has no rule named root");
        for (const llama_grammar_rule &rule : parser.rules) {
            if (std::ranges::any_of(rule, isToken))
                return cluster::fail(ErrorCode::InvalidArgument,
                                     "the grammar names tokens (<...>): write the text instead");
        }
        const GrammarAmbiguity ambiguity = ambiguityOf(parser, root->second);
        if (ambiguity.atStart > mostAtStart || ambiguity.perCharacter > mostAtStart)
            return cluster::fail(ErrorCode::InvalidArgument, tooAmbiguous());
        if (llama_grammar *grammar
            = llama_grammar_init_impl(handle, gbnf.c_str(), "root", false, nullptr, 0, nullptr, 0))
            return std::make_unique<LlamaGrammar>(grammar, handle, ambiguity.perCharacter);
    } catch (const std::exception &error) {
        return cluster::fail(ErrorCode::InvalidArgument,
                             std::string("the grammar is not valid: ") + error.what());
    }
    return cluster::fail(ErrorCode::InvalidArgument,
                         "the grammar is not valid GBNF: a rule is missing, or begins with itself");
}

} // namespace engine
