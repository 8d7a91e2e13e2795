#include "cluster/openai/stream_reader.h"

#include <utility>

namespace cluster {

namespace {

constexpr std::size_t maxBodyBytes = std::size_t{64} << 20;

} // namespace

StreamReader::StreamReader(std::string where, AnswerBuilder::TimePoint requestSent,
                           const StreamHandlers &handlers)
    : m_where(std::move(where)), m_handlers(handlers), m_builder(requestSent)
{
}

void StreamReader::begin(int status, std::string_view contentType)
{
    m_status = status;
    m_contentType = contentType;
    // Some servers stream under a wrong content type, but none streams under that of JSON.
    m_isEventStream = status >= 200 && status < 300 && contentType.find("json") == std::string_view::npos;
}

Result<Reading> StreamReader::take(std::string_view bytes, AnswerBuilder::TimePoint now)
{
    if (m_handlers.onRaw)
        m_handlers.onRaw(bytes);
    if (!m_isEventStream) {
        if (bytes.size() > maxBodyBytes - m_body.size())
            return fail(ErrorCode::ResourceExhausted, "the answer of " + m_where + " is larger than 64 MiB");
        m_body += bytes;
        return Reading::Continue;
    }
    Status status;
    const Status fed = m_parser.feed(bytes, [&](SseEvent &&event) {
        if (status)
            status = takeEvent(event, now);
    });
    if (!status)
        return tl::unexpected(status.error());
    if (!fed)
        return tl::unexpected(fed.error());
    return m_builder.answer().isDone ? Reading::Stop : Reading::Continue;
}

Status StreamReader::finish(AnswerBuilder::TimePoint now)
{
    if (!m_isEventStream)
        return finishBody(now);
    Status status;
    const Status fed = m_parser.finish([&](SseEvent &&event) {
        status = takeEvent(event, now);
        // Half an event at the very end is a cut, not garbage.
        if (!status && status.error().code == ErrorCode::DataLoss)
            status = {};
    });
    if (!status)
        return status;
    if (!fed)
        return fed;
    if (!isWhole())
        return tl::unexpected(cutError());
    return {};
}

Answer StreamReader::close(AnswerBuilder::TimePoint now)
{
    m_builder.close(now);
    return m_builder.answer();
}

bool StreamReader::isWhole() const
{
    return m_builder.answer().isDone || m_builder.isFinished();
}

Status StreamReader::takeEvent(const SseEvent &event, AnswerBuilder::TimePoint now)
{
    if (m_builder.answer().isDone)
        return {};
    ++m_eventCount;
    const Result<StreamEvent> parsed = parseStreamEvent(event);
    if (!parsed)
        return fail(parsed.error().code, m_where + ": " + parsed.error().message);
    if (const auto *chunk = std::get_if<AnswerChunk>(&*parsed))
        return takeChunk(*chunk, now);
    if (const auto *error = std::get_if<ApiError>(&*parsed))
        return tl::unexpected(toError(*error, m_where));
    m_builder.setDone();
    return {};
}

Status StreamReader::takeChunk(const AnswerChunk &chunk, AnswerBuilder::TimePoint now)
{
    m_builder.add(chunk, now);
    if (m_handlers.onChunk)
        m_handlers.onChunk(chunk);
    for (const ChoiceDelta &choice : chunk.choices) {
        // Servers that abort a request (shutdown, a dead engine) say so here, with status 200.
        if (choice.finishReason == "abort" || choice.finishReason == "error")
            return fail(ErrorCode::Aborted,
                        m_where + " ended the answer early ('" + choice.finishReason
                            + "'): see the server's log, then try again");
    }
    return {};
}

Status StreamReader::finishBody(AnswerBuilder::TimePoint now)
{
    if (m_status < 200 || m_status >= 300)
        return tl::unexpected(toError(parseErrorBody(m_status, m_body), m_where));
    const auto parsed = parseWholeAnswer(m_body);
    if (!parsed)
        return fail(parsed.error().code, m_where + ": " + parsed.error().message);
    if (const auto *error = std::get_if<ApiError>(&*parsed))
        return tl::unexpected(toError(*error, m_where));
    m_builder.setDone();
    return takeChunk(std::get<AnswerChunk>(*parsed), now);
}

Error StreamReader::cutError() const
{
    if (m_eventCount == 0)
        return {ErrorCode::DataLoss,
                m_where + " sent no event at all (content type '" + m_contentType
                    + "'): check that the address is that of an OpenAI-like server"};
    return {
        ErrorCode::DataLoss,
        m_where
            + " ended the stream without a last word (no [DONE], no finish reason): the answer is cut; the "
              "server or a proxy between may have ended, see its log"};
}

} // namespace cluster
