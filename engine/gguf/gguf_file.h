#pragma once

#include "cluster/base/result.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace engine {

/// What the header of a GGUF file says. 0 or empty: not said.
struct GgufFacts
{
    std::uint32_t version = 0;
    std::string architecture;
    std::string name;
    std::string licence; ///< As the file names it, e.g. "apache-2.0".
    std::string fileType; ///< "Q4_1", from general.file_type.
    std::string chatTemplate; ///< Jinja source; empty for a base model.
    std::int64_t layers = 0;
    std::int64_t heads = 0; ///< Largest of all layers where they differ.
    std::int64_t kvHeads = 0;
    std::int64_t contextLength = 0; ///< Tokens.
    std::int64_t embeddingSize = 0;
    std::int64_t feedForwardSize = 0;
    std::int64_t vocabularySize = 0;
    std::int64_t expertCount = 0;
    bool isEmbeddingModel = false; ///< Names a pooling: gives vectors, no text.
    std::int64_t splitCount = 0; ///< Files that the model is spread over.

    std::uint64_t tensorCount = 0;
    std::map<std::string, std::uint64_t> tensorTypes; ///< Tensors of each type.
    std::uint64_t parameterCount = 0;
    std::uint64_t tensorBytes = 0;
    std::uint64_t headerBytes = 0; ///< Up to the first tensor.
    std::uint64_t fileBytes = 0;
};

/// Reads the header and checks everything in it that libllama would abort, fail or read astray on: magic,
/// version, counts, types, tensor shapes and where they lie in the file. The weights are not read. Errors:
/// InvalidArgument for a file that is no good model, NotFound, PermissionDenied; the message names the file,
///          what is wrong and at which byte.
/// Source:  the GGUF format, versions 2 and 3, little-endian.
[[nodiscard]] cluster::Result<GgufFacts> readGguf(const std::filesystem::path &path);

} // namespace engine
