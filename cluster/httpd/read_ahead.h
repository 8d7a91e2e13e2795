#pragma once

#include "cluster/httpd/byte_stream.h"

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

namespace cluster {

/// Reads a stream before somebody asks for it, so that its end is noticed while nobody reads; stops for a
/// while when kLimit bytes wait. On the io thread only.
class ReadAhead : public std::enable_shared_from_this<ReadAhead>
{
public:
    static constexpr std::size_t kLimit = 64 * 1024;

    ReadAhead(std::unique_ptr<ByteStream> stream, boost::asio::any_io_executor executor)
        : m_stream(std::move(stream)), m_executor(std::move(executor))
    {
    }

    void start(std::function<void()> onInput); ///< called after each arrival, and at the end
    void stop(); ///< closes; onInput is not called any more

    std::string &input() { return m_input; }
    void inputTaken() { read(); } ///< after something was taken off input()
    [[nodiscard]] bool hasEnded() const { return bool(m_error); }
    [[nodiscard]] std::error_code error() const { return m_error; }
    ByteStream &stream() { return *m_stream; }

    /// The rest of the conversation as a stream of its own, beginning with what waits in input().
    std::unique_ptr<ByteStream> handOver();

private:
    friend class HandedStream;
    void read();

    std::unique_ptr<ByteStream> m_stream;
    boost::asio::any_io_executor m_executor;
    std::function<void()> m_onInput;
    std::array<char, 16 * 1024> m_buffer;
    std::string m_input;
    std::error_code m_error;
    bool m_reading = false;
};

} // namespace cluster
