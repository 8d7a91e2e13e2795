#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

/// POST /v1/chat/completions
void serveChat(ContextPtr context, ExchangePtr exchange);

} // namespace engine
