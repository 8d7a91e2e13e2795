#pragma once

#include "cluster/local/kubelet/inbound_queue.h"
#include "cluster/local/kubelet/web_socket.h"
#include <cstdint>
#include <deque>
#include <map>

namespace cluster::local {

/// Streams on one WebSocket as Kubernetes' `channel.k8s.io` protocols have them: each message begins with a
/// byte that names its channel. From v5 on a message to channel 255 with the number of a channel ends that
/// one.
class ChannelSession : public std::enable_shared_from_this<ChannelSession>
{
public:
    ChannelSession(boost::asio::any_io_executor executor, std::shared_ptr<WebSocket> socket,
                   std::function<void()> onEnded);

    /// All channels that may come are to be opened before start(); messages to others are dropped.
    [[nodiscard]] std::unique_ptr<ByteStream> open(std::uint8_t channel);
    void start();
    void finish(); ///< Closes in good order when all that is queued was written. Then onEnded.
    void close(); ///< Now; onEnded is not called.

private:
    class Channel;
    struct Outgoing
    {
        std::string message;
        ByteStream::WriteHandler handler;
    };

    void read();
    void onMessage(std::string_view message);
    void send(std::uint8_t channel, const std::string &data, ByteStream::WriteHandler handler);
    void writeNext();
    void end();

    boost::asio::any_io_executor m_executor;
    std::shared_ptr<WebSocket> m_socket;
    std::function<void()> m_onEnded;
    std::map<std::uint8_t, std::shared_ptr<InboundQueue>> m_channels;
    std::deque<Outgoing> m_outgoing;
    bool m_isReading = false;
    bool m_isWriting = false;
    bool m_isFinishing = false;
    bool m_isClosing = false; ///< Beast takes one close only.
    bool m_isEnded = false;
};

} // namespace cluster::local
