#pragma once

#include "engine/gguf/gguf_file.h"
#include <istream>

namespace engine {

/// Reads and checks a header from any stream whose length is known. Errors: throws GgufProblem.
[[nodiscard]] GgufFacts readHeader(std::istream &stream, std::uint64_t size);

} // namespace engine
