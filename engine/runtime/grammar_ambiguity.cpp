#include "engine/runtime/grammar_ambiguity.h"

#include "../src/llama-grammar.h" // llama.cpp's own: the rules as it has read them
#include <algorithm>
#include <vector>

namespace engine {

namespace {

constexpr double countless = 1e12; ///< Where counting ends.

struct Ways
{
    double toCharacter = 0; ///< Derivations that begin with a character.
    double toNothing = 0; ///< Derivations that are empty.
};

class Counter
{
public:
    explicit Counter(const llama_grammar_rules &rules)
        : m_rules(rules), m_ways(rules.size()), m_state(rules.size(), State::New)
    {
    }

    /// Depth-first with a stack of its own: rules may refer to each other in a chain as long as the text.
    Ways ofRule(std::size_t rule)
    {
        std::vector<std::size_t> open{rule};
        while (!open.empty()) {
            const std::size_t current = open.back();
            if (m_state[current] == State::New) {
                m_state[current] = State::Open;
                for (const llama_grammar_element &element : m_rules[current]) {
                    if (element.type == LLAMA_GRETYPE_RULE_REF && m_state[element.value] == State::New)
                        open.push_back(element.value);
                }
                continue;
            }
            open.pop_back();
            if (m_state[current] == State::Open) {
                m_ways[current] = count(current);
                m_state[current] = State::Done;
            }
        }
        return m_ways[rule];
    }

    [[nodiscard]] double mostBehindACharacter() const { return m_mostBehind; }

private:
    enum class State { New, Open, Done };

    Ways count(std::size_t rule)
    {
        Ways all;
        const llama_grammar_rule &elements = m_rules[rule];
        for (std::size_t begin = 0; begin < elements.size();) {
            std::size_t end = begin;
            while (elements[end].type != LLAMA_GRETYPE_END && elements[end].type != LLAMA_GRETYPE_ALT)
                ++end;
            const Ways one = countSequence(elements, begin, end);
            all.toCharacter = std::min(countless, all.toCharacter + one.toCharacter);
            all.toNothing = std::min(countless, all.toNothing + one.toNothing);
            begin = end + 1;
        }
        return all;
    }

    /// From the last element to the first, since each rest of the sequence is of interest.
    Ways countSequence(const llama_grammar_rule &elements, std::size_t begin, std::size_t end)
    {
        Ways rest{0, 1};
        for (std::size_t at = end; at-- > begin;) {
            if (at + 1 < end)
                m_mostBehind = std::max(m_mostBehind, rest.toCharacter);
            const llama_grammar_element &element = elements[at];
            if (element.type == LLAMA_GRETYPE_RULE_REF) {
                // A rule that is still open is the recursion of this one: none begins with itself, or
                // llama.cpp refuses the grammar.
                const Ways &first = m_ways[element.value];
                rest.toCharacter
                    = std::min(countless, first.toCharacter + first.toNothing * rest.toCharacter);
                rest.toNothing = std::min(countless, first.toNothing * rest.toNothing);
            } else {
                rest = {1, 0};
            }
        }
        return rest;
    }

    const llama_grammar_rules &m_rules;
    std::vector<Ways> m_ways;
    std::vector<State> m_state;
    double m_mostBehind = 1;
};

} // namespace

GrammarAmbiguity ambiguityOf(const llama_grammar_parser &grammar, std::size_t rootRule)
{
    Counter counter(grammar.rules);
    GrammarAmbiguity ambiguity;
    ambiguity.atStart = std::max(1.0, counter.ofRule(rootRule).toCharacter);
    ambiguity.perCharacter = counter.mostBehindACharacter();
    return ambiguity;
}

} // namespace engine
