#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <utility>

namespace cluster::local {

/// Runs `work` on the io_context's thread and waits for what it returns. Not from that thread.
template<typename Work>
auto onIo(boost::asio::io_context &io, Work &&work) -> decltype(work())
{
    std::packaged_task<decltype(work())()> task(std::forward<Work>(work));
    auto result = task.get_future();
    boost::asio::post(io, [&task] { task(); });
    return result.get();
}

} // namespace cluster::local
