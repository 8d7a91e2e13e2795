#pragma once

#include <string>

namespace cluster::local {

/// What both ends of a SPDY/3 connection prime their header compression with: a constant of the protocol
/// (draft-mbelshe-httpbis-spdy-00, 2.6.10.1).
[[nodiscard]] const std::string &spdyDictionary();

} // namespace cluster::local
