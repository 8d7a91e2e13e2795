#pragma once

#include "cluster/openai/answer.h"
#include "cluster/openai/client.h"

#include <string>
#include <string_view>

namespace cluster {

/// The answer to one generation request, from its bytes: a stream of events, one JSON object, or an error in
/// any shape. Knows nothing of HTTP but status and content type, so that every cut of the bytes can be tried.
class StreamReader
{
public:
    /// `where` names the server in messages.
    StreamReader(std::string where, AnswerBuilder::TimePoint requestSent, const StreamHandlers &handlers);

    void begin(int status, std::string_view contentType);

    /// Stop after [DONE]: what follows it does not matter. An error the server tells of comes back as an
    /// error.
    Result<Reading> take(std::string_view bytes, AnswerBuilder::TimePoint now);

    /// The bytes are at their end; success only if the answer is whole.
    Status finish(AnswerBuilder::TimePoint now);

    /// Call last, however it ended.
    Answer close(AnswerBuilder::TimePoint now);

    [[nodiscard]] bool isWhole() const;

private:
    Status takeEvent(const SseEvent &event, AnswerBuilder::TimePoint now);
    Status takeChunk(const AnswerChunk &chunk, AnswerBuilder::TimePoint now);
    Status finishBody(AnswerBuilder::TimePoint now);
    Error cutError() const;

    std::string m_where;
    const StreamHandlers &m_handlers;
    SseParser m_parser;
    AnswerBuilder m_builder;
    int m_status = 200;
    bool m_isEventStream = true;
    std::string m_contentType;
    std::string m_body; ///< of an answer that is no stream
    std::size_t m_eventCount = 0;
};

} // namespace cluster
