#pragma once

#include "cluster/base/result.h"
#include "engine/runtime/sampler.h"
#include "engine/runtime/token_vocabulary.h"

namespace engine {

/// The sampler of a request: reads its grammar, tokenises its bad words, settles its seed (`defaultSeed` and
/// the id where the request has none). Errors: InvalidArgument for a grammar that can't be read.
cluster::Result<std::unique_ptr<Sampler>>
makeSampler(const GenerateRequest &request, const TokenVocabulary &vocabulary, std::int64_t defaultSeed);

} // namespace engine
