#pragma once

#include <chrono>
#include <string>

namespace slipwayctl {

/// A secret of the desktop's keyring, by the program slipway-keyring beside this one; empty if there is none,
/// no keyring, no such program, or no answer within `patience`: a keyring must not keep a pull from going on.
[[nodiscard]] std::string secretFromKeyring(const std::string &programPath, const std::string &name,
                                            std::chrono::milliseconds patience = std::chrono::seconds(5));

} // namespace slipwayctl
