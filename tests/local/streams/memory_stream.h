#pragma once

#include "cluster/httpd/byte_stream.h"
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

/// The far end of a ByteStream for tests: what it is to read, and what was written to it.
struct MemoryWire
{
    std::string toRead;
    std::string written;
    bool isEnded = false; ///< After toRead comes the end.
    bool isClosed = false;
    bool isWriteEnded = false;
    bool isStuck = false; ///< Writes don't finish.
    std::size_t wasRead = 0; ///< Bytes taken from toRead so far.
};

std::unique_ptr<cluster::ByteStream> makeMemoryStream(boost::asio::io_context &io,
                                                      std::shared_ptr<MemoryWire> wire);
