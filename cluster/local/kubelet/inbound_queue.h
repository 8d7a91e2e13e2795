#pragma once

#include "cluster/httpd/byte_stream.h"
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace cluster::local {

/// What has come for one of several streams on a connection and was not read yet: the reading half of such a
/// stream. Handlers are called through the executor, never from inside of a call.
class InboundQueue
{
public:
    explicit InboundQueue(boost::asio::any_io_executor executor) : m_executor(std::move(executor)) {}

    void push(std::string_view bytes);
    /// What was pushed can still be read; then comes `reason`: the end (see isEnd), or a failure.
    void finish(std::error_code reason);
    /// Drops what there is; the pending read ends with operation_canceled.
    void cancel();

    void readSome(char *buffer, std::size_t size, ByteStream::ReadHandler handler);

    [[nodiscard]] std::size_t size() const { return m_bytes.size() - m_read; }
    [[nodiscard]] bool isFinished() const { return m_isFinished; }

private:
    void serve();

    boost::asio::any_io_executor m_executor;
    std::string m_bytes;
    std::size_t m_read = 0; ///< So many bytes of m_bytes were read.
    bool m_isFinished = false;
    std::error_code m_reason;
    char *m_buffer = nullptr;
    std::size_t m_bufferSize = 0;
    ByteStream::ReadHandler m_handler;
};

} // namespace cluster::local
