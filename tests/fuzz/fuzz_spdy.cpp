// A client's bytes on an upgraded connection, whole: frames, header blocks and the session's rules. Half of
// the streams are read, half are left alone.

#include "cluster/local/kubelet/spdy_session.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <string>
#include <vector>

using namespace cluster;
using namespace cluster::local;

namespace {

class Input : public ByteStream
{
public:
    Input(boost::asio::io_context &io, std::string_view bytes) : m_io(io), m_bytes(bytes) {}

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        const std::size_t count = std::min({size, m_bytes.size(), std::size_t{1000}});
        std::memcpy(buffer, m_bytes.data(), count);
        m_bytes.remove_prefix(count);
        const std::error_code error
            = count > 0 ? std::error_code() : std::make_error_code(std::errc::no_message_available);
        boost::asio::post(m_io, [handler = std::move(handler), error, count] { handler(error, count); });
    }
    void write(std::string, WriteHandler handler) override
    {
        boost::asio::post(m_io, [handler = std::move(handler)] { handler({}); });
    }
    void shutdownWrite() override {}
    void close() override {}

private:
    boost::asio::io_context &m_io;
    std::string_view m_bytes;
};

void readAll(const std::shared_ptr<ByteStream> &stream)
{
    auto buffer = std::make_shared<std::string>(256, '\0');
    stream->readSome(buffer->data(), buffer->size(), [stream, buffer](std::error_code error, std::size_t) {
        if (error)
            stream->write("bye", [stream](std::error_code) { stream->shutdownWrite(); });
        else
            readAll(stream);
    });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    boost::asio::io_context io{1};
    std::vector<std::shared_ptr<ByteStream>> kept;
    SpdyLimits limits;
    limits.maxStreams = 8;
    limits.maxStreamBacklog = 4096;
    {
        SpdySession session(
            io.get_executor(),
            std::make_unique<Input>(io, std::string_view(reinterpret_cast<const char *>(data), size)), limits,
            {[&kept](SpdySession::Stream stream) {
                 kept.push_back(std::move(stream.bytes));
                 if (kept.size() % 2 == 1)
                     readAll(kept.back());
             },
             [] {}});
        io.poll();
    }
    kept.clear();
    io.restart();
    io.poll();
    return 0;
}
