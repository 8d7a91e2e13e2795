#pragma once

#include <cstdint>
#include <string>

namespace engine {

/// How ggml packs a tensor type: so many values in so many bytes.
struct TensorType
{
    std::uint32_t number = 0; ///< In the file.
    const char *name = "";
    std::uint32_t blockValues = 1;
    std::uint32_t blockBytes = 1;
};

/// nullptr for a number that the pinned ggml does not know (also for types that were removed again).
[[nodiscard]] const TensorType *tensorType(std::uint32_t number);

/// "Q4_K_M" for general.file_type; "type 99" for one that we don't know.
[[nodiscard]] std::string fileTypeName(std::uint32_t number);

} // namespace engine
