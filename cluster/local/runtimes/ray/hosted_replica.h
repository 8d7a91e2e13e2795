#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/http_listener.h"
#include "cluster/local/runtimes/ray/ray_values.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

/// One replica that runs on this node. It listens on a port of its own, at the node's address, for proxies
/// and other replicas. Ends with its destructor.
class HostedReplica
{
public:
    virtual ~HostedReplica() = default;
    /// Replicas that it calls.
    virtual void setPeers(const std::vector<ServeTarget> & /*targets*/) {}
    virtual void addTraffic(ServeTraffic & /*traffic*/) const {}
};

/// What a replica tells its node; each at most once, not from inside the call that makes it.
struct HostedHandlers
{
    std::function<void(unsigned short port, int pid)> onReady;
    std::function<void(const std::string &error)> onFailed; ///< also after it was ready: it has ended
};

/// The listener of a replica that answers inside this process, on a free port of the node's address; says
/// that it is ready.
Result<std::unique_ptr<HttpListener>> openReplica(boost::asio::io_context &io, const std::string &address,
                                                  const HostedHandlers &handlers,
                                                  HttpListener::Handler handler);

} // namespace cluster::local
