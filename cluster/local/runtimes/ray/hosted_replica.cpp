#include "cluster/local/runtimes/ray/hosted_replica.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <unistd.h>

namespace cluster::local {

Result<std::unique_ptr<HttpListener>> openReplica(boost::asio::io_context &io, const std::string &address,
                                                  const HostedHandlers &handlers,
                                                  HttpListener::Handler handler)
{
    ListenerOptions options;
    options.address = address;
    options.serverName = "slipway-ray";
    options.limits.maxConnections = 4096;
    auto listener = HttpListener::open(io, std::move(options), std::move(handler));
    if (listener)
        boost::asio::post(io, [handlers, port = (*listener)->port()] { handlers.onReady(port, ::getpid()); });
    return listener;
}

} // namespace cluster::local
