#include "engine/serving/invocations_route.h"

#include "engine/serving/chat_route.h"
#include "engine/serving/completions_route.h"
#include "engine/serving/embeddings_route.h"
#include "engine/serving/field_reader.h"

namespace engine {

void serveInvocation(ContextPtr context, ExchangePtr exchange)
{
    const auto body = readJsonBody(context->dialect, exchange->request());
    if (!body) {
        respondError(*exchange, *context, body.error());
        return;
    }
    if (context->backend.facts().isEmbeddingModel)
        serveEmbeddings(std::move(context), std::move(exchange));
    else if (body->contains("messages"))
        serveChat(std::move(context), std::move(exchange));
    else
        serveCompletion(std::move(context), std::move(exchange));
}

} // namespace engine
