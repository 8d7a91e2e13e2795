#include "cluster/local/gcp/caller_permissions.h"

#include "cluster/local/gcp/role_permissions.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr int withConditions = 3; ///< of a policy

std::vector<std::string> namesOf(const Caller &caller)
{
    std::vector<std::string> names = caller.members;
    names.insert(names.end(), {"allUsers", "allAuthenticatedUsers"});
    return names;
}

bool anyGrants(const std::vector<std::string> &roles, const std::string &permission)
{
    return std::any_of(roles.begin(), roles.end(),
                       [&](const std::string &role) { return grants(role, permission); });
}

bool has(const std::vector<std::string> &list, const std::string &text)
{
    return std::find(list.begin(), list.end(), text) != list.end();
}

} // namespace

GoogleResult<std::vector<std::string>> CallerPermissions::rolesOf(const std::vector<std::string> &members,
                                                                  const std::string &resource) const
{
    const auto policy = m_policies.get(resource, withConditions);
    if (!policy)
        return tl::unexpected(policy.error());
    std::vector<std::string> roles;
    for (const json &binding : policy->value("bindings", json::array())) {
        const auto bound = binding.value("members", std::vector<std::string>());
        if (std::any_of(bound.begin(), bound.end(),
                        [&](const std::string &member) { return has(members, member); }))
            roles.push_back(binding.value("role", std::string()));
    }
    return roles;
}

GoogleResult<bool> CallerPermissions::inProject(const Caller &caller, const std::string &permission,
                                                const std::string &project) const
{
    const auto roles = rolesOf(namesOf(caller), "projects/" + project);
    if (!roles)
        return tl::unexpected(roles.error());
    return anyGrants(*roles, permission);
}

GoogleResult<bool> CallerPermissions::on(const std::string &resource, const std::string &project,
                                         const Caller &caller, const std::string &permission) const
{
    std::vector<std::string> names = namesOf(caller);
    const auto inherited = rolesOf(names, "projects/" + project);
    if (!inherited)
        return tl::unexpected(inherited.error());
    if (anyGrants(*inherited, permission))
        return true;
    static constexpr std::array<std::pair<const char *, const char *>, 3> teams{
        {{"roles/owner", "projectOwner:"},
         {"roles/editor", "projectEditor:"},
         {"roles/viewer", "projectViewer:"}}};
    for (const auto &[role, team] : teams) {
        if (has(*inherited, role))
            names.push_back(team + project);
    }
    const auto own = rolesOf(names, resource);
    if (!own)
        return tl::unexpected(own.error());
    return anyGrants(*own, permission);
}

} // namespace cluster::local
