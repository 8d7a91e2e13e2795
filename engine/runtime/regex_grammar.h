#pragma once

#include "cluster/base/result.h"
#include <string>
#include <string_view>

namespace engine {

/// GBNF (with the rule `root`) for the texts that a regular expression matches as a whole.
///
/// Knows: literals, `.`, classes with ranges and negation, \d \w \s (and \D \W \S outside of classes), groups
/// ((?:...)
///        and capturing), |, * + ? {n} {n,} {n,m} (lazy forms mean the same), escapes, and ^ and $ at the
///        ends.
/// Errors: InvalidArgument for what can't be said in a grammar: look-around, back references, anchors inside;
/// and for
///         malformed expressions. The message has the position.
[[nodiscard]] cluster::Result<std::string> regexToGrammar(std::string_view regex);

/// A GBNF literal with the text, quoted.
[[nodiscard]] std::string grammarLiteral(std::string_view text);

} // namespace engine
