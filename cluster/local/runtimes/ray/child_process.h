#pragma once

#include "cluster/base/result.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace cluster::local {

struct RayChildHandlers
{
    std::function<void(std::string_view)> onOutput; ///< both streams, cut anywhere
    std::function<void(int exitCode)> onEnd; ///< 128 + signal where one ended it; after all output
};

/// A program of a replica or a job. Ends with the process that started it. Threads: the io_context's.
class RayChild
{
public:
    /// \param environment  "NAME=value", all of it.
    static Result<std::shared_ptr<RayChild>> start(boost::asio::io_context &io,
                                                   std::vector<std::string> arguments,
                                                   std::vector<std::string> environment,
                                                   RayChildHandlers handlers);
    virtual ~RayChild() = default;
    virtual void terminate() = 0; ///< SIGTERM to it and what it started, SIGKILL after five seconds
    [[nodiscard]] virtual int pid() const = 0;
    virtual void abandon() = 0; ///< kills it; no handler is called any more
};

} // namespace cluster::local
