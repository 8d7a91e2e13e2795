#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

/// vLLM's messages quote values as Python prints them and name JSON errors as Python's parser does.
namespace engine {

[[nodiscard]] std::string pythonRepr(const nlohmann::ordered_json &value); ///< {'a': 1, 'b': None}
[[nodiscard]] std::string pythonRepr(std::string_view text); ///< 'text', or "it's"
[[nodiscard]] std::string pythonFloat(double value); ///< 2.0, 1e+16, inf

struct JsonSyntaxError
{
    std::size_t position = 0; ///< Characters (code points) from the start, as Python counts.
    std::string message;
};

/// The first error Python's json module would name. Deeper nesting than maxDepth is an error too ("Nested too
/// deep"), because everything behind this point may recurse.
[[nodiscard]] std::optional<JsonSyntaxError> findJsonError(std::string_view text, int maxDepth = 128);

} // namespace engine
