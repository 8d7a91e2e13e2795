// Messages of the channel protocols on a WebSocket: the first byte of each is its length.

#include "cluster/local/kubelet/channel_session.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>

using namespace cluster;
using namespace cluster::local;

namespace {

class Messages : public WebSocket
{
public:
    Messages(boost::asio::io_context &io, std::string_view bytes) : m_io(io), m_rest(bytes) {}

    void read(MessageHandler handler) override
    {
        std::error_code error;
        std::string message;
        if (m_rest.empty()) {
            error = std::make_error_code(std::errc::no_message_available);
        } else {
            const std::size_t length = static_cast<unsigned char>(m_rest.front());
            message = m_rest.substr(1, length);
            m_rest.remove_prefix(1 + message.size());
        }
        boost::asio::post(m_io, [handler = std::move(handler), error, message] { handler(error, message); });
    }
    void write(std::string, ByteStream::WriteHandler handler) override
    {
        boost::asio::post(m_io, [handler = std::move(handler)] { handler({}); });
    }
    void close(ByteStream::WriteHandler handler) override { write({}, std::move(handler)); }
    void cut() override {}

private:
    boost::asio::io_context &m_io;
    std::string_view m_rest;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    boost::asio::io_context io{1};
    const auto session = std::make_shared<ChannelSession>(
        io.get_executor(),
        std::make_shared<Messages>(io, std::string_view(reinterpret_cast<const char *>(data), size)), [] {});
    const auto in = session->open(0);
    const auto resize = session->open(4);
    session->start();
    char buffer[64];
    for (int i = 0; i < 8; ++i) {
        in->readSome(buffer, sizeof buffer, [](std::error_code, std::size_t) {});
        io.restart();
        io.poll();
    }
    session->finish();
    io.restart();
    io.poll();
    return 0;
}
