#pragma once

#include <optional>
#include <string>

namespace cluster::local {

/// Base64 (RFC 4648, with padding, one line) of any bytes: what JSON of the API has for them.
[[nodiscard]] std::string base64Text(const std::string &bytes);

/// What such a text stands for. Nothing: it is none.
[[nodiscard]] std::optional<std::string> base64Bytes(const std::string &text);

} // namespace cluster::local
