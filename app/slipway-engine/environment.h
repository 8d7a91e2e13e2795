#pragma once

#include <optional>
#include <string>

/// This process's environment, for the parsers of command lines.
[[nodiscard]] std::optional<std::string> ownEnvironment(const std::string &name);

/// What leader and workers must have in common: this program's version and its llama.cpp.
[[nodiscard]] std::string buildName();
