#include "cluster/httpd/socket_streams.h"

#include "cluster/httpd/socket_stream.h"

namespace cluster {

std::unique_ptr<ByteStream> streamOf(boost::asio::ip::tcp::socket socket)
{
    using Socket = boost::asio::ip::tcp::socket;
    return std::make_unique<SocketStream<Socket>>(std::make_shared<Socket>(std::move(socket)));
}

std::unique_ptr<ByteStream> streamOf(boost::asio::local::stream_protocol::socket socket)
{
    using Socket = boost::asio::local::stream_protocol::socket;
    return std::make_unique<SocketStream<Socket>>(std::make_shared<Socket>(std::move(socket)));
}

} // namespace cluster
