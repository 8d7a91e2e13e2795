#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

/// POST /v1/embeddings, for models with a pooling layer.
void serveEmbeddings(ContextPtr context, ExchangePtr exchange);

/// Little-endian float32, base64.
[[nodiscard]] std::string encodeFloats(const std::vector<float> &values);

} // namespace engine
