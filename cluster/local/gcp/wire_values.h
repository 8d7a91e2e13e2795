#pragma once

#include "cluster/httpd/server_message.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cluster::local {

/// "2026-11-30T12:00:00.123Z" with that many digits behind the point (0: without one).
std::string rfc3339(std::chrono::system_clock::time_point time, int digits);

std::int64_t millisecondsOf(std::chrono::system_clock::time_point time); ///< since 1970
std::chrono::system_clock::time_point timeOfMilliseconds(std::int64_t milliseconds);

std::string base64(std::string_view bytes);
std::optional<std::string> base64Decoded(std::string_view text); ///< nothing where it isn't canonical base64

std::string randomHex(int digits); ///< from the system's random source
std::string randomUuid();
std::string randomDigits(int count); ///< never with a leading zero

/// The body, an empty object for an empty one. Throws nlohmann's exceptions (see GcpService::handle).
nlohmann::json bodyOf(const ServerRequest &request);

/// A number of the query. Nothing where there is none or it is no number.
std::optional<std::int64_t> numberOf(const ServerRequest &request, std::string_view name);
/// "true", "True" and "1".
bool isTrue(const ServerRequest &request, std::string_view name);

/// What a list request asks for: at most `size`, behind the key `after`.
struct PageRequest
{
    std::size_t size = 0;
    std::string after;
};

/// From `sizeName` ("pageSize", "maxResults") and pageToken. Nothing for a token that is none of ours.
std::optional<PageRequest> pageOf(const ServerRequest &request, std::string_view sizeName,
                                  std::size_t defaultSize, std::size_t maxSize);
/// The token of a page that ended with this key.
std::string pageTokenAfter(std::string_view key);

} // namespace cluster::local
