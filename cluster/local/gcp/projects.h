#pragma once

#include "cluster/local/gcp/gcp_service.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

struct Project
{
    std::string id;
    std::string number;
    nlohmann::json resource; ///< as Resource Manager's v1 shows it
};

/// The projects of this target. The first one, GcpContext::projectId, is always there.
class Projects
{
public:
    explicit Projects(GcpContext &context) : m_context(context) {}

    GoogleStatus ensureFirst();
    /// By id or number; also those that are marked for deletion. Nothing if there is none.
    [[nodiscard]] GoogleResult<std::optional<Project>> find(const std::string &idOrNumber) const;
    /// The same, but only ACTIVE ones. Errors: PermissionDenied, which is what Google says to strangers.
    [[nodiscard]] GoogleResult<Project> require(const std::string &idOrNumber) const;
    [[nodiscard]] GoogleResult<std::vector<Project>> all() const; ///< by id

    /// Errors: AlreadyExists.
    GoogleResult<Project> create(nlohmann::json resource);
    /// "ACTIVE", "DELETE_REQUESTED".
    GoogleStatus setState(const Project &project, const std::string &state);
    GoogleResult<Project> update(const Project &project, const nlohmann::json &fields);

private:
    GcpContext &m_context;
};

} // namespace cluster::local
