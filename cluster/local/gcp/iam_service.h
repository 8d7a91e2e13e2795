#pragma once

#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/iam_policy.h"
#include "cluster/local/gcp/projects.h"

#include <string>

namespace cluster::local {

/// iam.googleapis.com v1: service accounts (create, get, list, update, enable, disable, delete, undelete) and
/// their policies.
class IamService : public GcpService
{
public:
    explicit IamService(GcpContext &context);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;

private:
    GoogleResult<nlohmann::json> answer(const ServerRequest &request, std::span<const std::string> path);
    GoogleResult<nlohmann::json> create(const ServerRequest &request, const Project &project);
    GoogleResult<nlohmann::json> list(const ServerRequest &request, const Project &project);
    GoogleResult<nlohmann::json> account(const ServerRequest &request, const std::string &projectId,
                                         const std::string &name);
    GoogleResult<nlohmann::json> verb(const ServerRequest &request, const nlohmann::json &account,
                                      const std::string &verb);
    GoogleResult<nlohmann::json> update(const nlohmann::json &account, const nlohmann::json &fields);
    GoogleResult<nlohmann::json> remove(const nlohmann::json &account);
    GoogleResult<nlohmann::json> undelete(const std::string &projectId, const std::string &uniqueId);
    /// By email or unique id; projectId may be "-".
    GoogleResult<nlohmann::json> find(const std::string &projectId, const std::string &name) const;

    GcpContext &m_context;
    Projects m_projects;
    EnabledApis m_apis;
    IamPolicies m_policies;
};

} // namespace cluster::local
