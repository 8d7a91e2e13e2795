#pragma once

#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/timed_operations.h"

#include <string>
#include <vector>

namespace cluster::local {

/// serviceusage.googleapis.com v1: enable, disable, batchEnable, list, get, batchGet, operations.
///
/// A project with the label slipway-billing=disabled answers as one without a billing account.
class ServiceUsageService : public GcpService
{
public:
    explicit ServiceUsageService(GcpContext &context);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;
    void start() override { m_operations.sweep(); }

private:
    GoogleResult<nlohmann::json> answer(const ServerRequest &request, std::span<const std::string> path);
    GoogleResult<nlohmann::json> enable(const Project &project, const std::vector<std::string> &names,
                                        bool isBatch);
    GoogleResult<nlohmann::json> disable(const Project &project, const std::string &name);
    GoogleResult<nlohmann::json> list(const Project &project, const ServerRequest &request);
    GoogleResult<nlohmann::json> batchGet(const Project &project, const ServerRequest &request);
    GoogleResult<nlohmann::json> one(const Project &project, const std::string &name);
    [[nodiscard]] nlohmann::json wire(const Project &project, std::string_view name, bool enabled) const;
    GoogleResult<std::vector<std::string>> missing(const Project &project,
                                                   const std::vector<std::string> &names) const;

    Projects m_projects;
    EnabledApis m_apis;
    TimedOperations m_operations;
};

} // namespace cluster::local
