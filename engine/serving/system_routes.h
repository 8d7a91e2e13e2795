#pragma once

#include "engine/serving/serving_context.h"

/// The small routes about the server itself.
namespace engine {

void serveHealth(const ContextPtr &context,
                 const ExchangePtr &exchange); ///< /health, /ping: 200 or 503, empty.
void serveVersion(const ContextPtr &context, const ExchangePtr &exchange);
void serveLoad(const ContextPtr &context, const ExchangePtr &exchange);
void serveMetrics(const ContextPtr &context, const ExchangePtr &exchange);

/// Old dialect: routes of tasks that the model does not have. what: "Embeddings API". needed: fields that
/// vLLM checks before. vLLM 0.8.5 answers with status 200 here, which is not copied.
void serveUnsupported(const ContextPtr &context, const ExchangePtr &exchange, const std::string &what,
                      const std::vector<std::string> &needed);

} // namespace engine
