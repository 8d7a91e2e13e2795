#pragma once

#include <chrono>
#include <string>

namespace cluster::local {

/// "2026-11-30T14:52:38Z", as metav1.Time.
[[nodiscard]] std::string utcSeconds(std::chrono::system_clock::time_point time);
/// "2026-11-30T14:52:38.120000Z", as metav1.MicroTime.
[[nodiscard]] std::string utcMicros(std::chrono::system_clock::time_point time);

} // namespace cluster::local
