#include "engine/runtime/token_vocabulary.h"

#include <array>
#include <llama.h>

namespace engine {

namespace {

std::string readPiece(const llama_vocab *vocabulary, TokenId token)
{
    std::array<char, 128> buffer{};
    const int length
        = llama_token_to_piece(vocabulary, token, buffer.data(), static_cast<int>(buffer.size()), 0, true);
    if (length >= 0)
        return {buffer.data(), static_cast<std::size_t>(length)};
    std::string piece(static_cast<std::size_t>(-length), '\0');
    llama_token_to_piece(vocabulary, token, piece.data(), -length, 0, true);
    return piece;
}

} // namespace

TokenVocabulary::TokenVocabulary(const llama_vocab *vocabulary) : m_vocabulary(vocabulary)
{
    const int count = llama_vocab_n_tokens(vocabulary);
    m_pieces.reserve(static_cast<std::size_t>(count));
    m_flags.reserve(static_cast<std::size_t>(count));
    for (TokenId token = 0; token < count; ++token) {
        m_pieces.push_back(readPiece(vocabulary, token));
        const bool end = llama_vocab_is_eog(vocabulary, token);
        const auto attributes = static_cast<unsigned>(llama_vocab_get_attr(vocabulary, token));
        const bool special = (attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) != 0;
        m_flags.push_back(static_cast<unsigned char>((end ? endFlag : 0) | (special ? specialFlag : 0)));
        if (end)
            m_endTokens.push_back(token);
    }
}

const std::string &TokenVocabulary::piece(TokenId token) const
{
    static const std::string none;
    return token >= 0 && token < size() ? m_pieces[static_cast<std::size_t>(token)] : none;
}

bool TokenVocabulary::hasFlag(TokenId token, unsigned char flag) const
{
    return token >= 0 && token < size() && (m_flags[static_cast<std::size_t>(token)] & flag) != 0;
}

std::vector<TokenId> TokenVocabulary::tokenize(std::string_view text, bool addSpecial,
                                               bool parseSpecial) const
{
    std::vector<TokenId> tokens(text.size() / 2 + 8);
    const auto fill = [&] {
        return llama_tokenize(m_vocabulary, text.data(), static_cast<int>(text.size()), tokens.data(),
                              static_cast<int>(tokens.size()), addSpecial, parseSpecial);
    };
    int count = fill();
    if (count < 0) {
        tokens.resize(static_cast<std::size_t>(-count));
        count = fill();
    }
    tokens.resize(static_cast<std::size_t>(std::max(count, 0)));
    return tokens;
}

cluster::Result<std::string> TokenVocabulary::detokenize(const std::vector<TokenId> &tokens) const
{
    for (const TokenId token : tokens) {
        if (token < 0 || token >= size())
            return cluster::fail(cluster::ErrorCode::InvalidArgument,
                                 "token " + std::to_string(token) + " is not in the vocabulary of "
                                     + std::to_string(size()) + " tokens");
    }
    std::string text(tokens.size() * 8 + 16, '\0');
    const auto fill = [&] {
        return llama_detokenize(m_vocabulary, tokens.data(), static_cast<int>(tokens.size()), text.data(),
                                static_cast<int>(text.size()), false, true);
    };
    int length = fill();
    if (length < 0) {
        text.resize(static_cast<std::size_t>(-length));
        length = fill();
    }
    text.resize(static_cast<std::size_t>(std::max(length, 0)));
    return text;
}

} // namespace engine
