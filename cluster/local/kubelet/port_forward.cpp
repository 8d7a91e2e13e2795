#include "cluster/local/kubelet/port_forward.h"

#include "cluster/local/kubelet/stream_pump.h"
#include "cluster/local/network/tcp_dialer.h"
#include <algorithm>
#include <charconv>
#include <utility>

namespace cluster::local {

namespace {

/// The data stream of a pair; takes the pair's error stream along, which ends when this one does.
class PairedStream : public ByteStream
{
public:
    PairedStream(std::unique_ptr<ByteStream> data, std::shared_ptr<ByteStream> error)
        : m_data(std::move(data)), m_error(std::move(error))
    {
    }
    ~PairedStream() override { PairedStream::close(); }

    void readSome(char *buffer, std::size_t size, ReadHandler handler) override
    {
        m_data->readSome(buffer, size, std::move(handler));
    }
    void write(std::string data, WriteHandler handler) override
    {
        m_data->write(std::move(data), std::move(handler));
    }
    /// The pod has ended its side. kubectl before 1.28 waits for the end of the error stream before it closes
    /// its own.
    void shutdownWrite() override
    {
        m_data->shutdownWrite();
        if (m_error)
            m_error->shutdownWrite();
    }
    void close() override
    {
        if (!m_error)
            return;
        m_data->close();
        m_error->shutdownWrite(); // empty: nothing went wrong
        m_error->close();
        m_error.reset();
    }

private:
    std::unique_ptr<ByteStream> m_data;
    std::shared_ptr<ByteStream> m_error;
};

std::string keyOf(const SpdySession::Stream &stream, const std::string &type)
{
    const auto given = stream.headers.find("requestid");
    if (given != stream.headers.end())
        return given->second;
    // Clients before Kubernetes 1.2 open the error stream, then the data stream.
    return std::to_string(type == "error" ? stream.id : stream.id - 2);
}

} // namespace

PortForward::PortForward(boost::asio::any_io_executor executor, PortForwardOptions options)
    : m_executor(std::move(executor)), m_options(std::move(options))
{
}

std::shared_ptr<PortForward> PortForward::start(const boost::asio::any_io_executor &executor,
                                                std::unique_ptr<ByteStream> carrier,
                                                PortForwardOptions options, std::function<void()> onEnded)
{
    const std::shared_ptr<PortForward> self(new PortForward(executor, std::move(options)));
    self->m_onEnded = std::move(onEnded);
    const std::weak_ptr<PortForward> weak = self;
    SpdySession::Events events;
    events.onStream = [weak](SpdySession::Stream stream) {
        if (const auto forward = weak.lock())
            forward->onStream(std::move(stream));
    };
    events.onEnded = [weak] {
        const auto forward = weak.lock();
        if (!forward)
            return;
        forward->m_pairs.clear();
        forward->m_joins.closeAll();
        if (forward->m_onEnded)
            std::exchange(forward->m_onEnded, nullptr)();
    };
    SpdyLimits limits;
    limits.maxStreams = self->m_options.maxStreams;
    limits.maxBacklog = self->m_options.maxBacklog;
    limits.maxStreamBacklog = std::min(limits.maxStreamBacklog, limits.maxBacklog);
    self->m_session = std::make_unique<SpdySession>(executor, std::move(carrier), limits, std::move(events));
    return self;
}

void PortForward::onStream(SpdySession::Stream stream)
{
    const std::string type = stream.headers["streamtype"];
    if (type != "error" && type != "data")
        return; // reset as its handle goes
    const std::string key = keyOf(stream, type);
    Pair &pair = m_pairs[key];
    if (type == "error" && !pair.error)
        pair.error = std::move(stream.bytes);
    else if (type == "data" && !pair.data) {
        pair.data = std::move(stream.bytes);
        pair.port = stream.headers["port"];
    }
    if (pair.error && pair.data) {
        Pair whole = std::move(pair);
        m_pairs.erase(key);
        connect(std::move(whole));
        return;
    }
    if (pair.timer)
        return;
    pair.timer = std::make_unique<boost::asio::steady_timer>(m_executor, m_options.pairTimeout);
    pair.timer->async_wait([weak = weak_from_this(), key](const boost::system::error_code &error) {
        if (const auto self = weak.lock(); self && !error)
            self->m_pairs.erase(key);
    });
}

void PortForward::connect(Pair pair)
{
    std::uint16_t port = 0;
    const char *end = pair.port.data() + pair.port.size();
    const auto [stop, failed] = std::from_chars(pair.port.data(), end, port);
    if (failed != std::errc() || stop != end || port == 0) {
        tellFailure(pair.error, std::move(pair.data), "'" + pair.port.substr(0, 100) + "' is no port");
        return;
    }
    // The client ends this one at once: it only listens there.
    drainStream(pair.error, [](PumpEnd) {});
    auto data = std::make_shared<std::unique_ptr<ByteStream>>(std::move(pair.data));
    dial(m_executor, {m_options.podAddress, port, {}}, m_options.connectTimeout,
         [weak = weak_from_this(), data, error = pair.error,
          port](Result<std::unique_ptr<ByteStream>> server) {
             const auto self = weak.lock();
             if (!self)
                 return;
             if (server)
                 self->m_joins.start(std::make_unique<PairedStream>(std::move(*data), error),
                                     std::move(*server));
             else
                 self->tellFailure(error, std::move(*data),
                                   "error forwarding port " + std::to_string(port) + " to pod "
                                       + self->m_options.pod + ": " + server.error().message);
         });
}

void PortForward::tellFailure(const std::shared_ptr<ByteStream> &error, std::unique_ptr<ByteStream> data,
                              const std::string &text)
{
    const std::shared_ptr<ByteStream> kept = std::move(data);
    error->write(text, [error, kept](std::error_code) {
        error->shutdownWrite();
        kept->shutdownWrite();
        // What the client still sends is read until it ends, so that it sees our words before a reset.
        drainStream(kept, [kept](PumpEnd) {});
    });
}

void PortForward::close()
{
    m_onEnded = nullptr;
    m_pairs.clear();
    m_joins.closeAll();
    m_session.reset();
}

} // namespace cluster::local
