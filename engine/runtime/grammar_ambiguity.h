#pragma once

#include <cstddef>

struct llama_grammar_parser;

namespace engine {

/// How many places in a grammar an output can be at, at once. llama.cpp follows all of them and compares each
/// with each, so a grammar of a few lines can keep the decode thread busy for ever.
struct GrammarAmbiguity
{
    double atStart = 1; ///< Ways in which an output can begin.
    double perCharacter = 1; ///< Ways in which it can go on behind a character, at most.
};

/// Counts by the rules alone, without running them: an upper bound.
[[nodiscard]] GrammarAmbiguity ambiguityOf(const llama_grammar_parser &grammar, std::size_t rootRule);

} // namespace engine
