#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

/// POST /v1/completions
void serveCompletion(ContextPtr context, ExchangePtr exchange);

} // namespace engine
