#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/grammar.h"
#include "engine/runtime/token_vocabulary.h"
#include <memory>

namespace engine {

/// Reads a GBNF grammar with the rule `root`. Errors: InvalidArgument if llama.cpp refuses it.
/// Lifetime: not longer than the vocabulary.
cluster::Result<std::unique_ptr<Grammar>> parseGrammar(const std::string &gbnf,
                                                       const TokenVocabulary &vocabulary);

} // namespace engine
