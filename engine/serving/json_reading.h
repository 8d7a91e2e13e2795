#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace engine {

/// A JSON text that findJsonError() has nothing against, its members in order; of equal names the last value
/// counts, in the place of the first. In time linear in its length: nlohmann's own parser looks through all
/// members of an ordered object for each new one, so that a megabyte of short members takes minutes.
/// Nothing if it is no JSON after all (text that is no UTF-8).
[[nodiscard]] std::optional<nlohmann::ordered_json> parseJson(std::string_view text);

} // namespace engine
