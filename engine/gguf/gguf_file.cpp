#include "engine/gguf/gguf_file.h"

#include "engine/gguf/byte_reader.h"
#include "engine/gguf/header_reader.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>

namespace engine {

using cluster::ErrorCode;

cluster::Result<GgufFacts> readGguf(const std::filesystem::path &path)
{
    const std::string quoted = "'" + path.string() + "'";
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status))
        return cluster::fail(ErrorCode::NotFound, "there is no model file " + quoted);
    if (!std::filesystem::is_regular_file(status))
        return cluster::fail(ErrorCode::InvalidArgument,
                             quoted + " is not a file; a single .gguf file is needed");
    const auto size = std::filesystem::file_size(path, error);
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    if (error || !stream)
        return cluster::fail(ErrorCode::PermissionDenied,
                             "cannot read the model file " + quoted + ": " + std::strerror(errno));
    try {
        return readHeader(stream, size);
    } catch (const GgufProblem &problem) {
        return cluster::fail(ErrorCode::InvalidArgument,
                             "the model file " + quoted + " is damaged or no GGUF model: " + problem.what
                                 + " (at byte " + std::to_string(problem.offset) + ")");
    } catch (const std::bad_alloc &) {
        return cluster::fail(ErrorCode::ResourceExhausted,
                             "not enough memory to read the header of " + quoted);
    }
}

} // namespace engine
