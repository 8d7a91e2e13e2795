// The header of a model file, as anybody may have made it.

#include "engine/gguf/header_reader.h"

#include "engine/gguf/byte_reader.h"
#include <cstdint>
#include <cstdlib>
#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    std::istringstream stream(std::string(reinterpret_cast<const char *>(data), size));
    try {
        const engine::GgufFacts facts = engine::readHeader(stream, size);
        if (facts.headerBytes > size)
            std::abort();
    } catch (const engine::GgufProblem &problem) {
        if (problem.what.empty() || problem.offset > size)
            std::abort();
    }
    return 0;
}
