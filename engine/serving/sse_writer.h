#pragma once

#include "engine/serving/serving_context.h"

namespace engine {

/// A stream of server-sent events: one JSON text a `data:` line, a blank line after it, `[DONE]` last.
class SseWriter
{
public:
    SseWriter(ExchangePtr exchange, const Dialect &dialect);

    void begin(); ///< Status and headers. Further calls do nothing.
    void event(const std::string &json);
    void namedEvent(const std::string &name, const std::string &json);
    void error(const ApiError &error); ///< An error event; done() still has to follow.
    void done(); ///< `[DONE]` and the end of the stream.
    void end(); ///< The end without `[DONE]`.

    /// The client reads too slowly for single tokens: the caller should gather more before it writes.
    [[nodiscard]] bool isBusy() const;
    [[nodiscard]] Exchange &exchange() { return *m_exchange; }

private:
    ExchangePtr m_exchange;
    const Dialect &m_dialect;
};

/// A refusal that vLLM finds only when it has begun to answer: a stream gets status 200 and an error event.
void refuseLate(const ServingContext &context, const ExchangePtr &exchange, bool stream,
                const ApiError &error);

} // namespace engine
