#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/byte_stream.h"
#include "cluster/local/network/dial_target.h"
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace cluster::local {

/// A connected TCP socket as a ByteStream, with real half-close.
[[nodiscard]] std::unique_ptr<ByteStream> makeSocketStream(boost::asio::ip::tcp::socket socket);

using Dialled = std::function<void(Result<std::unique_ptr<ByteStream>>)>;

/// Connects and calls `dialled` on the executor's thread, never from inside of this call. Unavailable: nobody
/// listens there. DeadlineExceeded: no answer in `timeout`.
void dial(const boost::asio::any_io_executor &executor, DialTarget target, std::chrono::milliseconds timeout,
          Dialled dialled);

} // namespace cluster::local
