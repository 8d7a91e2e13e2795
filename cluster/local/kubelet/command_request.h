#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/server_message.h"
#include "cluster/local/nodeagent/pod_access.h"
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cluster::local {

/// What `/containerLogs/…?…` asks for. InvalidArgument: a number or time that is none. `sinceSeconds` counts
/// back from `now`.
[[nodiscard]] Result<LogOptions> parseLogOptions(const ServerRequest &request,
                                                 std::chrono::system_clock::time_point now);

/// What `/exec/…?command=…&input=1&output=1&error=1&tty=1` asks for. InvalidArgument: no stream at all, a
/// terminal together with an error stream of its own, or an exec without a command.
[[nodiscard]] Result<ExecOptions> parseExecOptions(const ServerRequest &request, bool isAttach);

/// The first of `accepted` (best first) that the client offers in its header fields called `name`, each of
/// which may list several with commas. Nothing if there is none.
[[nodiscard]] std::optional<std::string> negotiated(const ServerRequest &request, std::string_view name,
                                                    std::span<const std::string_view> accepted);
/// All that it offers, for a message.
[[nodiscard]] std::string offered(const ServerRequest &request, std::string_view name);

/// RFC 3339 with any fraction of a second; nothing otherwise.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point> parseSinceTime(std::string_view text);

} // namespace cluster::local
