#pragma once

#include "cluster/httpd/byte_stream.h"
#include <boost/asio/any_io_executor.hpp>
#include <memory>

namespace cluster::local {

/// A pipe or a terminal as a ByteStream. Owns the descriptor, which has to be non-blocking. The end of a
/// terminal whose last process has gone (EIO) is an end like that of a pipe. shutdownWrite() closes a pipe;
/// on a terminal it types the end-of-file character instead, since closing it would hang up.
[[nodiscard]] std::unique_ptr<ByteStream> makeDescriptorStream(const boost::asio::any_io_executor &executor,
                                                               int descriptor);

} // namespace cluster::local
