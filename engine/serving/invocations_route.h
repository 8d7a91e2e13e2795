#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

/// POST /invocations: chat, completion or embedding, whichever the body looks like.
void serveInvocation(ContextPtr context, ExchangePtr exchange);

} // namespace engine
