#pragma once

#include "cluster/base/result.h"
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

/// One flag of a command.
struct Flag
{
    enum class Kind {
        Value, ///< --name value, --name=value
        Values, ///< --name a b c, --name a --name b
        Switch, ///< --name, --no-name, --name=true; the value is "true" or "false"
        IgnoredValue,
        IgnoredSwitch,
    };
    using Apply = std::function<cluster::Status(const std::string &value)>;

    std::string name; ///< With dashes: "--max-model-len".
    Kind kind = Kind::Value;
    std::string valueName; ///< For the help: "N", "PATH".
    std::string help;
    Apply apply; ///< Called for each value; not for the ignored ones.
};

/// The command line of one command: its flags, their short names, and what to do with the rest.
struct CommandLine
{
    std::string command; ///< "slipway-engine serve", for messages.
    std::vector<Flag> flags;
    std::vector<std::pair<std::string, std::string>> aliases; ///< {"-tp", "--tensor-parallel-size"}
    std::function<cluster::Status(const std::string &)> positional; ///< Empty: none is allowed.
    std::function<void(const std::string &)> warn; ///< One line for each ignored flag.
};

/// Applies the arguments in their order. Underscores count as dashes in flags' names.
/// Errors: InvalidArgument naming the flag, with the nearest known one where it is unknown.
[[nodiscard]] cluster::Status applyArguments(const CommandLine &line,
                                             const std::vector<std::string> &arguments);

/// The flags with their help, one a line, ignored ones left out.
[[nodiscard]] std::string describeFlags(const CommandLine &line);

/// The candidate with the smallest edit distance, if it is near enough to be meant; else empty.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string> &candidates);

} // namespace engine
