#include "cluster/local/runtimes/ray/line_connection.h"

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

LineConnection::LineConnection(asio::ip::tcp::socket socket) : m_socket(std::move(socket)) {}

void LineConnection::start(LineHandlers handlers)
{
    m_handlers = std::move(handlers);
    error_code ignored;
    m_socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    read();
}

void LineConnection::setHandlers(LineHandlers handlers)
{
    m_handlers = std::move(handlers);
}

void LineConnection::read()
{
    asio::async_read_until(m_socket, m_input, '\n',
                           [self = shared_from_this()](error_code error, std::size_t size) {
                               if (error) {
                                   self->fail();
                                   return;
                               }
                               const auto *begin = static_cast<const char *>(self->m_input.data().data());
                               const std::string line(begin, size - 1);
                               self->m_input.consume(size);
                               if (const auto onLine = self->m_handlers.onLine)
                                   onLine(line);
                               if (self->m_socket.is_open())
                                   self->read();
                           });
}

void LineConnection::send(std::string line)
{
    if (!m_socket.is_open() || m_isClosing)
        return;
    line += '\n';
    m_queued += line.size();
    if (m_queued > mostQueued) {
        fail();
        return;
    }
    m_output.push_back(std::move(line));
    if (m_output.size() == 1)
        write();
}

void LineConnection::write()
{
    asio::async_write(m_socket, asio::buffer(m_output.front()),
                      [self = shared_from_this()](error_code error, std::size_t size) {
                          if (error) {
                              self->fail();
                              return;
                          }
                          self->m_queued -= size;
                          self->m_output.pop_front();
                          if (!self->m_output.empty())
                              self->write();
                          else if (self->m_isClosing)
                              self->close();
                      });
}

void LineConnection::fail()
{
    error_code ignored;
    m_socket.close(ignored);
    if (const auto onClosed = std::exchange(m_handlers, {}).onClosed)
        onClosed();
}

void LineConnection::close()
{
    m_handlers = {};
    error_code ignored;
    m_socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    m_socket.close(ignored);
}

void LineConnection::closeWhenSent()
{
    m_handlers = {};
    m_isClosing = true;
    if (m_output.empty())
        close();
}

} // namespace cluster::local
