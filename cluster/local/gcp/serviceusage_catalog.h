#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace cluster::local {

/// An API that a project can have.
struct KnownApi
{
    std::string_view name; ///< "container.googleapis.com"
    std::string_view title;
    bool isDefault = false; ///< Google enables it in every new project
    std::vector<std::string_view> needs; ///< enabled along with it
};

/// By name.
std::span<const KnownApi> knownApis();
const KnownApi *findApi(std::string_view name);

} // namespace cluster::local
