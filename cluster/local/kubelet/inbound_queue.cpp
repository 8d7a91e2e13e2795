#include "cluster/local/kubelet/inbound_queue.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>

namespace cluster::local {

void InboundQueue::push(std::string_view bytes)
{
    if (m_isFinished)
        return;
    m_bytes += bytes;
    serve();
}

void InboundQueue::finish(std::error_code reason)
{
    if (std::exchange(m_isFinished, true))
        return;
    m_reason = reason;
    serve();
}

void InboundQueue::cancel()
{
    m_bytes.clear();
    m_read = 0;
    m_isFinished = true;
    m_reason = std::make_error_code(std::errc::operation_canceled);
    serve();
}

void InboundQueue::readSome(char *buffer, std::size_t size, ByteStream::ReadHandler handler)
{
    m_buffer = buffer;
    m_bufferSize = size;
    m_handler = std::move(handler);
    serve();
}

void InboundQueue::serve()
{
    if (!m_handler || (size() == 0 && !m_isFinished))
        return;
    const std::size_t count = std::min(size(), m_bufferSize);
    std::memcpy(m_buffer, m_bytes.data() + m_read, count);
    m_read += count;
    if (m_read == m_bytes.size()) {
        m_bytes.clear();
        m_read = 0;
    } else if (m_read > m_bytes.size() / 2) {
        m_bytes.erase(0, m_read); // at most once for each byte that was read
        m_read = 0;
    }
    const std::error_code reason = count == 0 ? m_reason : std::error_code();
    boost::asio::post(
        m_executor, [handler = std::exchange(m_handler, nullptr), reason, count] { handler(reason, count); });
}

} // namespace cluster::local
