#pragma once

#include "engine/commandline/serve_options.h"
#include "engine/gguf/gguf_file.h"

namespace engine {

/// Does the model allow what the command line asks for? vLLM's rules and words: heads and tensor parallel
/// size, layers and pipeline parallel size, the model's context. Errors: InvalidArgument.
[[nodiscard]] cluster::Status checkAgainstModel(const ServeOptions &options, const GgufFacts &facts);

/// Stages that hold layers, after the command line and the workers: at least 1.
[[nodiscard]] int stageCount(const ServeOptions &options);

/// Layers of each stage as vLLM splits them: equal, the rest one each to the stages from the last but one
/// backwards.
[[nodiscard]] std::vector<int> stageLayers(int layers, int stages);

} // namespace engine
