#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/token_vocabulary.h"

namespace engine {

/// GBNF for a constraint: a JSON schema by llama.cpp's own converter, a regular expression, a list of
/// choices, any JSON object, or GBNF as it is; checked with llama.cpp's parser. Errors: InvalidArgument for a
/// constraint that can't be used, and if not exactly one is set.
[[nodiscard]] cluster::Result<std::string> compileGrammar(const GrammarRequest &request,
                                                          const TokenVocabulary &vocabulary);

} // namespace engine
