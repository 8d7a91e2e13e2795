#pragma once

#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/projects.h"
#include "cluster/local/gcp/quotas.h"

#include <span>
#include <string>

namespace cluster::local {

/// cloudquotas.googleapis.com v1 for compute.googleapis.com: quotaInfos, and quotaPreferences, which are
/// granted at once here: asking for more is how one sets a limit of this target.
class CloudQuotasService : public GcpService
{
public:
    CloudQuotasService(GcpContext &context, Quotas &quotas);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;

private:
    using Path = std::span<const std::string>;

    GoogleResult<nlohmann::json> answer(const ServerRequest &request, Path path);
    GoogleResult<nlohmann::json> infos(const ServerRequest &request, const Project &project, Path path);
    GoogleResult<nlohmann::json> preferences(const ServerRequest &request, const Project &project, Path path);
    GoogleResult<nlohmann::json> setPreference(const ServerRequest &request, const Project &project,
                                               const std::string &id);
    [[nodiscard]] nlohmann::json infosOf(const Project &project) const; ///< by id

    GcpContext &m_context;
    const ComputeCatalog &m_catalog;
    Quotas &m_quotas;
    Projects m_projects;
    EnabledApis m_apis;
};

} // namespace cluster::local
