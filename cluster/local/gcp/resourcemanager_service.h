#pragma once

#include "cluster/local/gcp/iam_policy.h"
#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/timed_operations.h"

#include <string>

namespace cluster::local {

/// cloudresourcemanager.googleapis.com v1: projects (create, get, list, update, delete, undelete), their IAM
/// policies, operations.
class ResourceManagerService : public GcpService
{
public:
    explicit ResourceManagerService(GcpContext &context);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;
    void start() override;

private:
    GoogleResult<nlohmann::json> answer(const ServerRequest &request, std::span<const std::string> path);
    GoogleResult<nlohmann::json> one(const ServerRequest &request, const std::string &name);
    GoogleResult<nlohmann::json> verb(const ServerRequest &request, const Project &project,
                                      const std::string &verb);
    GoogleResult<nlohmann::json> create(const ServerRequest &request);
    GoogleResult<nlohmann::json> list(const ServerRequest &request);
    GoogleResult<Project> visible(const std::string &idOrNumber) const;

    Projects m_projects;
    IamPolicies m_policies;
    TimedOperations m_operations;
};

} // namespace cluster::local
