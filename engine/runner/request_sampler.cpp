#include "engine/runner/request_sampler.h"

#include "engine/runtime/llama_grammar.h"

namespace engine {

namespace {

// Ids are consecutive numbers: mixed, so that neighbours do not draw alike.
std::uint64_t mixed(std::uint64_t value)
{
    value += 0x9E3779B97F4A7C15U;
    value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
    return value ^ (value >> 31U);
}

// A word may come at the start of a text and within it: with and without a space in front.
std::vector<std::vector<TokenId>> tokenizeWords(const std::vector<std::string> &words,
                                                const TokenVocabulary &vocabulary)
{
    std::vector<std::vector<TokenId>> result;
    for (const std::string &word : words) {
        const std::size_t begin = std::min(word.find_first_not_of(' '), word.size());
        for (const std::string &form : {word.substr(begin), ' ' + word.substr(begin)}) {
            std::vector<TokenId> tokens = vocabulary.tokenize(form, false, false);
            if (!tokens.empty() && begin < word.size())
                result.push_back(std::move(tokens));
        }
    }
    return result;
}

} // namespace

cluster::Result<std::unique_ptr<Sampler>>
makeSampler(const GenerateRequest &request, const TokenVocabulary &vocabulary, std::int64_t defaultSeed)
{
    Sampler::Input input;
    input.params = request.sampling;
    input.prompt = request.prompt;
    input.endTokens = vocabulary.endTokens();
    input.badWords = tokenizeWords(request.sampling.badWords, vocabulary);
    const auto base = static_cast<std::uint64_t>(defaultSeed);
    input.seed = request.sampling.seed ? mixed(static_cast<std::uint64_t>(*request.sampling.seed))
                                       : mixed(mixed(base) ^ request.id);
    if (!request.sampling.grammar.empty()) {
        auto grammar = parseGrammar(request.sampling.grammar, vocabulary);
        if (!grammar)
            return tl::unexpected(grammar.error());
        input.grammar = std::move(*grammar);
    }
    return std::make_unique<Sampler>(std::move(input));
}

} // namespace engine
