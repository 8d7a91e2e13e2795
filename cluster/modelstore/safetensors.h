#pragma once

#include "cluster/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

struct SafeTensor
{
    std::string name;
    bool isHalf = false; ///< F16, else F32
    std::vector<std::uint64_t> shape; ///< the dimension that varies slowest first
    std::string_view bytes; ///< into the file's text
};

/// The tensors of a safetensors file, in the order of its header. Every offset and size is checked against
/// the file. Errors: DataLoss with what is wrong; Unimplemented for a type other than F32 and F16 of a named
/// tensor (I64 tensors, which are only position numbers, are skipped).
Result<std::vector<SafeTensor>> readSafetensors(std::string_view file);

/// Little-endian bytes of `tensor` as F32 or F16; F32 is rounded to the nearest, ties to even.
std::string asFloat32(const SafeTensor &tensor);
std::string asFloat16(const SafeTensor &tensor);

} // namespace cluster
