#include "engine/serving/system_routes.h"

#include "engine/serving/field_reader.h"

namespace engine {

void serveHealth(const ContextPtr &context, const ExchangePtr &exchange)
{
    exchange->respond({context->unavailable() ? 503 : 200, {}, {}});
}

void serveVersion(const ContextPtr &context, const ExchangePtr &exchange)
{
    respondJson(*exchange, R"({"version":)" + jsonQuoted(context->options.version) + "}");
}

void serveLoad(const ContextPtr &context, const ExchangePtr &exchange)
{
    respondJson(*exchange, R"({"server_load":)" + std::to_string(context->load) + "}");
}

void serveMetrics(const ContextPtr &context, const ExchangePtr &exchange)
{
    exchange->respond({200,
                       {{"content-type", std::string(context->dialect.metricsContentType)}},
                       context->metrics.render()});
}

void serveUnsupported(const ContextPtr &context, const ExchangePtr &exchange, const std::string &what,
                      const std::vector<std::string> &needed)
{
    const auto body = readJsonBody(context->dialect, exchange->request());
    if (!body) {
        respondError(*exchange, *context, body.error());
        return;
    }
    FieldReader reader(*body);
    for (const std::string &name : needed) {
        if (!reader.has(name.c_str()))
            reader.missing(name.c_str());
    }
    if (!reader.issues().empty())
        respondError(*exchange, *context, validationError(context->dialect, reader.issues()));
    else
        respondError(*exchange, *context, badRequest("The model does not support " + what));
}

} // namespace engine
