#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/decoder.h"
#include <string_view>

struct llama_vocab;

namespace engine {

/// The tokens of a loaded model. Const and safe to call from several threads; must not outlive the model.
class TokenVocabulary final : public Vocabulary
{
public:
    explicit TokenVocabulary(const llama_vocab *vocabulary);

    [[nodiscard]] int size() const override { return static_cast<int>(m_pieces.size()); }
    [[nodiscard]] const std::string &piece(TokenId token) const override;
    [[nodiscard]] bool isEnd(TokenId token) const override { return hasFlag(token, endFlag); }
    [[nodiscard]] bool isSpecial(TokenId token) const override { return hasFlag(token, specialFlag); }
    [[nodiscard]] const std::vector<TokenId> &endTokens() const override { return m_endTokens; }

    [[nodiscard]] std::vector<TokenId> tokenize(std::string_view text, bool addSpecial,
                                                bool parseSpecial) const;

    /// The text with control tokens spelled out; broken UTF-8 is replaced.
    /// Errors: InvalidArgument for a token outside of the vocabulary.
    [[nodiscard]] cluster::Result<std::string> detokenize(const std::vector<TokenId> &tokens) const;

    [[nodiscard]] const llama_vocab *handle() const { return m_vocabulary; }

private:
    static constexpr unsigned char endFlag = 1;
    static constexpr unsigned char specialFlag = 2;
    [[nodiscard]] bool hasFlag(TokenId token, unsigned char flag) const;

    const llama_vocab *m_vocabulary;
    std::vector<std::string> m_pieces;
    std::vector<unsigned char> m_flags;
    std::vector<TokenId> m_endTokens;
};

} // namespace engine
