#pragma once

#include <cstdint>

namespace cluster {

/// A TCP port on 127.0.0.1 that nobody listens on at this moment; 0 if there is none. Somebody else may take
/// it before it is used: whoever uses it must be ready to ask again.
[[nodiscard]] std::uint16_t freeLoopbackPort();

} // namespace cluster
