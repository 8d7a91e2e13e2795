#pragma once

#include "cluster/base/result.h"
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace engine {

/// An integer within bounds. Errors: InvalidArgument with the text and the bounds.
[[nodiscard]] cluster::Result<std::int64_t> parseInteger(const std::string &text, std::int64_t smallest,
                                                         std::int64_t largest
                                                         = std::numeric_limits<std::int64_t>::max());

/// vLLM's human-readable integers: 1k is 1000, 1K is 1024, 25.6k is 25600 (also m, M, g, G, t, T). Fractions
/// only with the decimal letters.
[[nodiscard]] cluster::Result<std::int64_t> parseHumanInteger(const std::string &text, std::int64_t smallest,
                                                              std::int64_t largest
                                                              = std::numeric_limits<std::int64_t>::max());

/// "host:port". Errors: InvalidArgument.
struct HostPort
{
    std::string host;
    std::uint16_t port = 0;
};
[[nodiscard]] cluster::Result<HostPort> parseHostPort(const std::string &text);

/// A chat template as vLLM takes it: the content of a file of that name, or Jinja text itself.
/// Errors: InvalidArgument for a text that looks like a path to nothing.
[[nodiscard]] cluster::Result<std::string> readChatTemplate(const std::string &fileOrText);

/// A secret from a file: its first line, without blanks around it; not empty.
/// Errors: NotFound, InvalidArgument.
[[nodiscard]] cluster::Result<std::string> readSecretFile(const std::string &path);

/// Is a loopback address or "localhost".
[[nodiscard]] bool isLoopback(const std::string &host);

/// The lines of a text that aren't empty.
[[nodiscard]] std::vector<std::string> linesOf(const std::string &text);

} // namespace engine
