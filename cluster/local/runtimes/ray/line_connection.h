#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/streambuf.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cluster::local {

struct LineHandlers
{
    std::function<void(std::string_view)> onLine; ///< without its end
    std::function<void()> onClosed; ///< once: by the peer, by an error, or by a line that is too long
};

/// Lines of text both ways over TCP: what carries the messages between a head and its workers. Knows none of
/// them. Threads: the io_context's.
class LineConnection : public std::enable_shared_from_this<LineConnection>
{
public:
    static constexpr std::size_t longestLine = std::size_t{1} << 20;
    static constexpr std::size_t mostQueued = std::size_t{16} << 20; ///< bytes; a peer that reads none is cut

    explicit LineConnection(boost::asio::ip::tcp::socket socket);
    void start(LineHandlers handlers);
    void setHandlers(LineHandlers handlers); ///< in place of those it has; from inside of one, too
    void send(std::string line);
    void close(); ///< no handler is called any more; what is queued is given up
    void closeWhenSent(); ///< the same, once all has been written

private:
    void read();
    void write();
    void fail();

    boost::asio::ip::tcp::socket m_socket;
    boost::asio::streambuf m_input{longestLine};
    std::deque<std::string> m_output;
    std::size_t m_queued = 0;
    bool m_isClosing = false;
    LineHandlers m_handlers;
};

} // namespace cluster::local
