// A client's bytes on a connection to the kubelet's API as it is served: requests, an upgrade to WebSocket
// (or to bare bytes), its frames, and the channels in them. They arrive in pieces whose length the first byte
// gives.

#include "cluster/httpd/http_session.h"
#include "cluster/local/kubelet/channel_session.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <cstring>

using namespace cluster;
using namespace cluster::local;

namespace {

class Client : public ByteStream
{
public:
    Client(boost::asio::io_context &io, std::string_view bytes, std::size_t piece)
        : m_io(io), m_bytes(bytes), m_piece(piece)
    {
    }
    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        const std::size_t count = std::min({size, m_bytes.size(), m_piece});
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
    std::size_t m_piece;
};

void readOnce(const std::shared_ptr<ChannelSession> &session, std::shared_ptr<ByteStream> stream)
{
    const auto buffer = std::make_shared<std::string>(64, '\0');
    stream->readSome(buffer->data(), buffer->size(),
                     [session, buffer, stream](std::error_code, std::size_t) { session->finish(); });
}

/// Reads the channels of a command, as exec does, until they end.
void runChannels(boost::asio::io_context &io, std::shared_ptr<WebSocket> socket)
{
    const auto session = std::make_shared<ChannelSession>(io.get_executor(), std::move(socket), [] {});
    auto input = session->open(0);
    auto resize = session->open(4);
    session->start();
    readOnce(session, std::move(input));
    readOnce(session, std::move(resize));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    boost::asio::io_context io{1};
    const auto options = std::make_shared<ListenerOptions>();
    const auto handler = [&io](const std::shared_ptr<ServerExchange> &exchange) {
        if (!exchange->request().wantsUpgrade())
            return exchange->reply({200, {}, exchange->request().body});
        if (exchange->request().method == "CONNECT")
            return exchange->upgrade({200, {}, {}}, [](Result<std::unique_ptr<ByteStream>>) {});
        WebSocket::accept(io.get_executor(), exchange, "v5.channel.k8s.io",
                          [&io](Result<std::shared_ptr<WebSocket>> socket) {
                              if (socket)
                                  runChannels(io, std::move(*socket));
                          });
    };
    const auto session = std::make_shared<HttpSession>(
        std::make_unique<Client>(io, std::string_view(reinterpret_cast<const char *>(data + 1), size - 1),
                                 data[0] * 4U + 1U),
        io.get_executor(), Peer{}, options, handler, [] {});
    session->start();
    io.poll();
    session->close();
    io.restart();
    io.poll();
    return 0;
}
