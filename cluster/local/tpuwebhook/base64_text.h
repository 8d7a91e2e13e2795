#pragma once

#include <string>

namespace cluster::local {

/// Base64 (RFC 4648, with padding, one line) of any bytes: what JSON of the API has for them.
[[nodiscard]] std::string base64Text(const std::string &bytes);

} // namespace cluster::local
