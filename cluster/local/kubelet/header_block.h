#pragma once

#include "cluster/base/result.h"
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cluster::local {

/// Names are in lower case. Several values of one name are separated by a zero byte, as on the wire.
using SpdyHeaders = std::map<std::string, std::string>;

/// Reads the compressed header blocks of one direction of a connection. They share one compression state:
/// each block has to be read, in order, also one that nobody wants.
class HeaderBlockReader
{
public:
    /// \param maxBytes  Of one block, decompressed; no more memory than that is ever taken for it.
    explicit HeaderBlockReader(std::size_t maxBytes = 64 * 1024);
    ~HeaderBlockReader();
    HeaderBlockReader(const HeaderBlockReader &) = delete;
    HeaderBlockReader &operator=(const HeaderBlockReader &) = delete;

    /// InvalidArgument: no header block, or one that is too large. The connection can't go on then.
    [[nodiscard]] Result<SpdyHeaders> read(std::string_view compressed);

private:
    [[nodiscard]] Result<std::string> inflated(std::string_view compressed);

    struct Private;
    std::unique_ptr<Private> m_p;
};

/// Writes the blocks of the other direction.
class HeaderBlockWriter
{
public:
    HeaderBlockWriter();
    ~HeaderBlockWriter();
    HeaderBlockWriter(const HeaderBlockWriter &) = delete;
    HeaderBlockWriter &operator=(const HeaderBlockWriter &) = delete;

    [[nodiscard]] std::string write(const SpdyHeaders &headers);

private:
    struct Private;
    std::unique_ptr<Private> m_p;
};

} // namespace cluster::local
