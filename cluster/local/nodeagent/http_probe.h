#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

struct HttpProbeRequest
{
    bool isTls = false;
    std::string host; ///< as in the URL and in messages: the pod's IP, unless the probe says another
    std::string address; ///< where that really is
    int port = 0;
    std::string path;
    std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpProbeAnswer
{
    int status = 0; ///< 0: none, see `error`
    std::string error; ///< kubelet's words (Go's)
};

/// One GET of a probe or a hook. Redirects to the same host are followed, ten at most; one to another host is
/// the answer. Certificates aren't checked, as kubelet doesn't.
class HttpProbe
{
public:
    virtual ~HttpProbe() = default;
    virtual void start() = 0;
    virtual void cancel() = 0; ///< `done` is not called any more
    [[nodiscard]] virtual std::string url() const = 0; ///< "http://10.4.0.7:8080/healthz"

    /// \param done  Called once, on the io_context.
    static std::shared_ptr<HttpProbe> make(boost::asio::io_context &io, HttpProbeRequest request,
                                           std::function<void(HttpProbeAnswer)> done);
};

/// Go's words for what a connection failed of.
std::string goDialError(const std::string &host, int port, const std::string &what);

} // namespace cluster::local
