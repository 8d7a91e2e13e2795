#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

void serveTokenize(ContextPtr context, ExchangePtr exchange); ///< POST /tokenize
void serveDetokenize(ContextPtr context, ExchangePtr exchange); ///< POST /detokenize

} // namespace engine
