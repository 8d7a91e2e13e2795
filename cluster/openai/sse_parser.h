#pragma once

#include "cluster/base/result.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace cluster {

struct SseEvent
{
    std::string name; ///< of the `event:` field; empty where there was none
    std::string data; ///< several `data:` lines are joined by one LF
};

/// Server-sent events from bytes that may be cut anywhere, also inside a UTF-8 character or between CR and
/// LF. Lines end in LF, CRLF or CR (and nothing else: U+2028 is text); comments, a byte order mark, `id` and
/// `retry` are skipped. Source: the WHATWG HTML standard, "Server-sent events"; kinder than it only in
/// finish().
class SseParser
{
public:
    using Handler = std::function<void(SseEvent &&)>;

    static constexpr std::size_t defaultMaxEventBytes = std::size_t{32} << 20;

    explicit SseParser(std::size_t maxEventBytes = defaultMaxEventBytes);

    /// Calls `handler` for each event that `bytes` completes.
    /// Errors: ResourceExhausted when an event grows over the limit; the parser is of no use after that.
    Status feed(std::string_view bytes, const Handler &handler);

    /// The bytes are at their end. An event whose blank line never came is still handed on: some servers
    /// forget it after their last event. Whether the stream was whole is for the reader of the events to say.
    Status finish(const Handler &handler);

private:
    Status takeText(std::string_view text);
    Status endLine(const Handler &handler);
    void dispatch(const Handler &handler);

    std::size_t m_maxEventBytes;
    std::string m_line;
    std::string m_name;
    std::string m_data;
    bool m_hasData = false;
    bool m_isFirstLine = true;
    bool m_skipLineFeed = false; ///< the last byte was a CR: an LF right after it belongs to it
};

} // namespace cluster
