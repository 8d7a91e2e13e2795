#pragma once

#include "cluster/httpd/server_message.h"

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cluster::local {

struct HttpCallRequest
{
    std::string host; ///< an address
    unsigned short port = 0;
    std::string method = "GET", target = "/";
    HeaderFields headers;
    std::string body;
};

struct HttpCallHandlers
{
    std::function<void(int status, const HeaderFields &headers)> onHead;
    /// A piece of the body. False: no more until resume().
    std::function<bool(std::string_view piece)> onData;
    /// Once, last. Empty: the answer was whole; else what happened.
    std::function<void(const std::string &error)> onEnd;
};

/// One HTTP request to a replica or an engine of this machine, without blocking. The call keeps itself until
/// onEnd. Threads: the io_context's.
class HttpCall
{
public:
    static std::shared_ptr<HttpCall> start(boost::asio::io_context &io, HttpCallRequest request,
                                           HttpCallHandlers handlers);
    virtual ~HttpCall() = default;
    virtual void resume() = 0;
    virtual void cancel() = 0; ///< no handler is called any more
};

} // namespace cluster::local
