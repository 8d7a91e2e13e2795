#pragma once

#include "cluster/base/result.h"
#include "cluster/openai/requests.h"

#include <nlohmann/json.hpp>

namespace cluster {

/// Keeps the order in which members are written, so that an exported request reads as people write it.
using RequestJson = nlohmann::ordered_json;

Result<RequestJson> toJson(const ChatRequest &request);
Result<RequestJson> toJson(const CompletionRequest &request);
Result<RequestJson> toJson(const EmbeddingsRequest &request);

} // namespace cluster
