#pragma once

#include <string>
#include <string_view>

namespace cluster::local {

/// Why a text is no image name, in the words of the library that kubelet reads them with ("invalid reference
/// format"); empty: it is one. [REGISTRY/]PATH[:TAG][@DIGEST].
std::string imageNameError(std::string_view image);

} // namespace cluster::local
