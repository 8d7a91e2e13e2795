#include "cluster/local/network/tcp_dialer.h"

#include "cluster/base/low_port.h"
#include "cluster/httpd/socket_streams.h"
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/in.h>
#include <utility>

namespace cluster::local {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCodeOfBoost = boost::system::error_code;

struct Dialling
{
    tcp::socket socket;
    asio::steady_timer timer;
    Dialled dialled;
    bool isLate = false;
};

Error dialError(const DialTarget &target, bool isLate, const ErrorCodeOfBoost &error)
{
    const std::string where = target.address.text() + ":" + std::to_string(target.port);
    if (isLate)
        return {ErrorCode::DeadlineExceeded, "no answer from " + where};
    return {ErrorCode::Unavailable, "can't connect to " + where + ": " + error.message()};
}

ErrorCodeOfBoost bindTo(tcp::socket &socket, Ipv4 from)
{
    ErrorCodeOfBoost error;
    socket.open(tcp::v4(), error);
    if (error || from == Ipv4{})
        return error;
    // The port is picked at connect: otherwise each address has only some 28,000 connections to all servers.
    const int on = 1;
    ::setsockopt(socket.native_handle(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    socket.bind({asio::ip::address_v4(from.value), 0}, error);
    return error;
}

} // namespace

std::unique_ptr<ByteStream> makeSocketStream(tcp::socket socket)
{
    ErrorCodeOfBoost ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    return streamOf(std::move(socket));
}

void dial(const asio::any_io_executor &executor, DialTarget target, std::chrono::milliseconds timeout,
          Dialled dialled)
{
    auto work = std::make_shared<Dialling>(
        Dialling{tcp::socket(executor), asio::steady_timer(executor), std::move(dialled)});
    if (const ErrorCodeOfBoost error = bindTo(work->socket, target.from); error) {
        asio::post(executor,
                   [work, target, error] { work->dialled(tl::unexpected(dialError(target, false, error))); });
        return;
    }
    work->timer.expires_after(timeout);
    work->timer.async_wait([work](const ErrorCodeOfBoost &error) {
        if (error)
            return;
        work->isLate = true;
        ErrorCodeOfBoost ignored;
        work->socket.close(ignored);
    });
    const tcp::endpoint endpoint(asio::ip::address_v4(target.address.value), target.port);
    work->socket.async_connect(endpoint, [work, target, executor, timeout](const ErrorCodeOfBoost &error) {
        work->timer.cancel();
        const std::uint16_t substitute = substituteOfLowPort(target.port);
        if (error == asio::error::connection_refused && !work->isLate && substitute != 0) {
            dial(executor, {target.address, substitute, target.from}, timeout, std::move(work->dialled));
            return;
        }
        if (error || work->isLate)
            work->dialled(tl::unexpected(dialError(target, work->isLate, error)));
        else
            work->dialled(makeSocketStream(std::move(work->socket)));
    });
}

} // namespace cluster::local
