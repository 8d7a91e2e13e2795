#pragma once

#include <string_view>

namespace cluster::local {

/// Whether a role of Google's contains a permission, among those that pods are asked for here: of Cloud
/// Storage, Cloud Monitoring, and service accounts' tokens. Roles that a project made itself contain none.
/// Source: Google's reference of IAM roles.
bool grants(std::string_view role, std::string_view permission);

} // namespace cluster::local
