#pragma once

#include "engine/protocol/messages.h"
#include "engine/serving/field_reader.h"
#include <optional>

namespace engine {

/// What the output is held to: response_format, and guided_* (old) or structured_outputs (newest).
/// Empty: free text. The grammar itself is compiled by the engine.
[[nodiscard]] ApiResult<std::optional<GrammarRequest>> readStructuredOutput(FieldReader &reader,
                                                                            const Dialect &dialect);

} // namespace engine
