#include "cluster/local/kubelet/socket_forward.h"

#include "cluster/local/network/tcp_dialer.h"
#include <utility>

namespace cluster::local {

namespace {

std::string portBytes(std::uint16_t port)
{
    return {static_cast<char>(port & 0xFF), static_cast<char>(port >> 8)};
}

} // namespace

SocketForward::SocketForward(boost::asio::any_io_executor executor, PortForwardOptions options)
    : m_executor(std::move(executor)), m_options(std::move(options))
{
}

std::shared_ptr<SocketForward> SocketForward::start(const boost::asio::any_io_executor &executor,
                                                    std::shared_ptr<WebSocket> socket,
                                                    PortForwardOptions options,
                                                    const std::vector<std::uint16_t> &ports,
                                                    std::function<void()> onEnded)
{
    const std::shared_ptr<SocketForward> self(new SocketForward(executor, std::move(options)));
    self->m_session = std::make_shared<ChannelSession>(executor, std::move(socket),
                                                       [weak = std::weak_ptr(self), onEnded] {
                                                           if (const auto forward = weak.lock())
                                                               forward->m_joins.closeAll();
                                                           onEnded();
                                                       });
    for (std::size_t i = 0; i < ports.size() && i < 100; ++i)
        self->connect(static_cast<std::uint8_t>(2 * i), ports[i]);
    self->m_session->start();
    return self;
}

void SocketForward::connect(std::uint8_t index, std::uint16_t port)
{
    ++m_open;
    auto data = std::make_shared<std::unique_ptr<ByteStream>>(m_session->open(index));
    const std::shared_ptr<ByteStream> error = m_session->open(static_cast<std::uint8_t>(index + 1));
    m_errors.push_back(error);
    (*data)->write(portBytes(port), [](std::error_code) {});
    error->write(portBytes(port), [](std::error_code) {});
    dial(m_executor, {m_options.podAddress, port, {}}, m_options.connectTimeout,
         [weak = weak_from_this(), data, error, port](Result<std::unique_ptr<ByteStream>> server) {
             const auto self = weak.lock();
             if (!self)
                 return;
             if (server)
                 self->m_joins.start(std::move(*data), std::move(*server), [weak] {
                     if (const auto later = weak.lock())
                         later->portEnded();
                 });
             else
                 error->write("error forwarding port " + std::to_string(port) + " to pod "
                                  + self->m_options.pod + ": " + server.error().message,
                              [weak](std::error_code) {
                                  if (const auto later = weak.lock())
                                      later->portEnded();
                              });
         });
}

void SocketForward::portEnded()
{
    if (--m_open == 0)
        m_session->finish();
}

void SocketForward::close()
{
    m_joins.closeAll();
    m_session->close();
}

} // namespace cluster::local
