#pragma once

#include "cluster/httpd/byte_stream.h"
#include <functional>
#include <memory>

namespace cluster::local {

/// The client's side of an exec or attach, however it is carried (SPDY or WebSocket). A stream that was not
/// asked for is null.
struct RemoteCommand
{
    std::shared_ptr<ByteStream> in; ///< Read; its end closes the process's standard input.
    std::shared_ptr<ByteStream> out; ///< Written, as the following two.
    std::shared_ptr<ByteStream> err;
    std::shared_ptr<ByteStream> status; ///< The error stream: how it ended.
    std::shared_ptr<ByteStream> resize; ///< Read.
    bool hasJsonStatus = true; ///< From v4.channel.k8s.io on.
    std::function<void()> finish; ///< All is written: flush and end the connection.
};

} // namespace cluster::local
