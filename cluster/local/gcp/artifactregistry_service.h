#pragma once

#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/iam_policy.h"
#include "cluster/local/gcp/timed_operations.h"

#include <string>

namespace cluster::local {

/// artifactregistry.googleapis.com v1: repositories (create, get, list, update, delete), their policies,
/// operations, locations. Holds no images: nothing here is a container registry.
class ArtifactRegistryService : public GcpService
{
public:
    explicit ArtifactRegistryService(GcpContext &context);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;
    void start() override { m_operations.sweep(); }

private:
    struct Place
    {
        Project project;
        std::string location;
        std::string parent; ///< "projects/P/locations/L"
    };
    GoogleResult<nlohmann::json> answer(const ServerRequest &request, std::span<const std::string> path);
    GoogleResult<nlohmann::json> create(const ServerRequest &request, const Place &place);
    GoogleResult<nlohmann::json> list(const ServerRequest &request, const Place &place);
    GoogleResult<nlohmann::json> repository(const ServerRequest &request, const Place &place,
                                            const std::string &name);
    GoogleResult<nlohmann::json> remove(const Place &place, const std::string &name);
    GoogleResult<nlohmann::json> patch(const ServerRequest &request, const std::string &name);
    GoogleResult<nlohmann::json> find(const std::string &name) const;
    [[nodiscard]] nlohmann::json locations(const Place &place) const;

    GcpContext &m_context;
    Projects m_projects;
    EnabledApis m_apis;
    IamPolicies m_policies;
    TimedOperations m_operations;
};

} // namespace cluster::local
