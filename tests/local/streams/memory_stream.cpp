#include "memory_stream.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>

namespace {

class MemoryStream : public cluster::ByteStream
{
public:
    MemoryStream(boost::asio::io_context &io, std::shared_ptr<MemoryWire> wire)
        : m_io(io), m_wire(std::move(wire))
    {
    }
    ~MemoryStream() override { MemoryStream::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        if (m_wire->toRead.empty() && !m_wire->isEnded)
            return; // for ever
        const std::size_t count = std::min(size, m_wire->toRead.size());
        std::memcpy(buffer, m_wire->toRead.data(), count);
        m_wire->toRead.erase(0, count);
        m_wire->wasRead += count;
        const std::error_code error
            = count > 0 ? std::error_code() : std::make_error_code(std::errc::no_message_available);
        boost::asio::post(m_io, [handler = std::move(handler), error, count] { handler(error, count); });
    }
    void write(std::string data, WriteHandler handler) override
    {
        m_wire->written += data;
        if (!m_wire->isStuck)
            boost::asio::post(m_io, [handler = std::move(handler)] { handler({}); });
    }
    void shutdownWrite() override { m_wire->isWriteEnded = true; }
    void close() override { m_wire->isClosed = true; }

private:
    boost::asio::io_context &m_io;
    std::shared_ptr<MemoryWire> m_wire;
};

} // namespace

std::unique_ptr<cluster::ByteStream> makeMemoryStream(boost::asio::io_context &io,
                                                      std::shared_ptr<MemoryWire> wire)
{
    return std::make_unique<MemoryStream>(io, std::move(wire));
}
