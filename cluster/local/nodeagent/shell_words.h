#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

using VariableOf = std::function<std::string(const std::string &name)>;

/// The simple commands of a shell script, each as its words: quotes, backslashes, line continuations and
/// $NAME,
/// ${NAME}, ${NAME:-default} are understood; `;`, `&`, `|`, newlines and parentheses end a command;
/// redirections are left out. What a shell would compute (loops, $(...)) is not.
std::vector<std::vector<std::string>> shellCommands(std::string_view script, const VariableOf &variable);

} // namespace cluster::local
