#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cluster::local {

using Time = std::chrono::system_clock::time_point;

std::string secondsText(Time time); ///< metav1.Time: "2026-11-30T19:47:19Z"
std::string nanosecondsText(Time time); ///< of log lines: "2026-11-30T19:47:19.123456789Z"

/// RFC 3339 with any number of decimals, in UTC ("Z") or with an offset.
std::optional<Time> parseTime(std::string_view text);

/// As Go prints durations of whole seconds: "10s", "1m20s", "5m0s".
std::string durationText(std::chrono::seconds duration);

} // namespace cluster::local
