#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

/// GET /v1/models
void serveModels(const ContextPtr &context, const ExchangePtr &exchange);

} // namespace engine
