#include "engine/serving/sse_writer.h"

namespace engine {

namespace {

constexpr std::size_t kBusyBytes = 64 * 1024;

} // namespace

SseWriter::SseWriter(ExchangePtr exchange, const Dialect &dialect)
    : m_exchange(std::move(exchange)), m_dialect(dialect)
{
}

void SseWriter::begin()
{
    if (!m_exchange->isAnswered())
        m_exchange->beginStream({200, {{"content-type", "text/event-stream; charset=utf-8"}}, {}});
}

void SseWriter::event(const std::string &json)
{
    begin();
    m_exchange->send("data: " + json + "\n\n");
}

void SseWriter::namedEvent(const std::string &name, const std::string &json)
{
    begin();
    m_exchange->send("event: " + name + "\ndata: " + json + "\n\n");
}

void SseWriter::error(const ApiError &error)
{
    event(errorEventJson(m_dialect, error));
}

void SseWriter::done()
{
    begin();
    m_exchange->send("data: [DONE]\n\n");
    m_exchange->endStream();
}

void SseWriter::end()
{
    m_exchange->endStream();
}

void refuseLate(const ServingContext &context, const ExchangePtr &exchange, bool stream,
                const ApiError &error)
{
    if (!stream) {
        respondError(*exchange, context, error);
        return;
    }
    SseWriter writer(exchange, context.dialect);
    writer.error(error);
    writer.done();
}

bool SseWriter::isBusy() const
{
    return m_exchange->backlogBytes() > kBusyBytes;
}

} // namespace engine
