#pragma once

#include <string>

namespace cluster::local {

/// A PNG in place of a generated picture: `size` pixels wide and high, in colours of the prompt, with the
/// prompt's text and the words that it is a placeholder, which its metadata say too.
/// \param size  64 to 1024
std::string placeholderPicture(const std::string &prompt, int size);

} // namespace cluster::local
