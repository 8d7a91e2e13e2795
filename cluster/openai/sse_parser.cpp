#include "cluster/openai/sse_parser.h"

#include <utility>

namespace cluster {

namespace {

constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

} // namespace

SseParser::SseParser(std::size_t maxEventBytes) : m_maxEventBytes(maxEventBytes) {}

Status SseParser::feed(std::string_view bytes, const Handler &handler)
{
    while (!bytes.empty()) {
        if (std::exchange(m_skipLineFeed, false) && bytes.front() == '\n') {
            bytes.remove_prefix(1);
            continue;
        }
        const std::size_t end = bytes.find_first_of("\r\n");
        if (auto taken = takeText(bytes.substr(0, end)); !taken)
            return taken;
        if (end == std::string_view::npos)
            return {};
        m_skipLineFeed = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        if (auto ended = endLine(handler); !ended)
            return ended;
    }
    return {};
}

Status SseParser::finish(const Handler &handler)
{
    if (!m_line.empty()) {
        if (auto ended = endLine(handler); !ended)
            return ended;
    }
    dispatch(handler);
    return {};
}

Status SseParser::takeText(std::string_view text)
{
    if (text.size() > m_maxEventBytes || m_line.size() + m_data.size() > m_maxEventBytes - text.size())
        return fail(ErrorCode::ResourceExhausted,
                    "the server sent one event of more than " + std::to_string(m_maxEventBytes)
                        + " bytes: its answer is not read further; check the address");
    m_line += text;
    return {};
}

Status SseParser::endLine(const Handler &handler)
{
    std::string_view line = m_line;
    if (std::exchange(m_isFirstLine, false) && line.starts_with(byteOrderMark))
        line.remove_prefix(byteOrderMark.size());
    if (line.empty()) {
        m_line.clear();
        dispatch(handler);
        return {};
    }
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' '))
        value.remove_prefix(1);
    if (field == "data") {
        if (m_hasData)
            m_data += '\n';
        m_data += value;
        m_hasData = true;
    } else if (field == "event") {
        m_name = value;
    }
    m_line.clear();
    return {};
}

void SseParser::dispatch(const Handler &handler)
{
    SseEvent event{std::exchange(m_name, {}), std::exchange(m_data, {})};
    // An event without a data line is none, but `event: error` alone is still news.
    const bool isEvent = std::exchange(m_hasData, false) || event.name == "error";
    if (isEvent)
        handler(std::move(event));
}

} // namespace cluster
