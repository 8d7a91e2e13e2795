#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace cluster::local {

/// What the Content-Range of a resumable upload says.
struct UploadRange
{
    bool isGiven = false; ///< there is one
    bool isQuestion = false; ///< "bytes */…": no bytes come along
    std::uint64_t first = 0; ///< place of the body's first byte
    std::optional<std::uint64_t> total; ///< of the object, where it is known
};

/// "bytes 0-262143/1000000", "bytes 0-262143/*", "bytes */1000000", "bytes */*", and "".
/// Errors: InvalidArgument.
Result<UploadRange> readUploadRange(std::string_view header);

} // namespace cluster::local
