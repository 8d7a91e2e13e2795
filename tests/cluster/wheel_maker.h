#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tests {

/// Writes a wheel that pip accepts into `folder`; returns its path.
std::filesystem::path makeWheel(const std::filesystem::path &folder, const std::string &name,
                                const std::string &version, const std::map<std::string, std::string> &files);

} // namespace tests
