#pragma once

#include "engine/serving/field_reader.h"
#include <string>

namespace engine {

/// The messages of a chat: checked as vLLM's union of message types does, and made fit for a chat template.
/// Also says so when a part needs a multimodal model. modelName: as shown in that complaint.
[[nodiscard]] ApiResult<nlohmann::ordered_json> readMessages(FieldReader &reader, const Dialect &dialect,
                                                             const std::string &modelName);

} // namespace engine
