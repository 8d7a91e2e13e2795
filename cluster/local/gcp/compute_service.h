#pragma once

#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/enabled_apis.h"
#include "cluster/local/gcp/quotas.h"

#include <span>
#include <string>

namespace cluster::local {

/// compute v1, what is read before money is spent: project, regions and zones with their quotas, accelerator
/// types, machine types; and what node pools name: resource policies (TPU7x slices need one), reservations.
class ComputeService : public GcpService
{
public:
    ComputeService(GcpContext &context, Quotas &quotas);

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;
    [[nodiscard]] ServerResponse errorFor(const GoogleError &error) const override
    {
        return legacyErrorResponse(error);
    }

private:
    /// One request: whose project, and how its URLs begin.
    struct Call
    {
        const ServerRequest &request;
        Project project;
        std::string self; ///< "https://www.googleapis.com/compute/v1/projects/P"
    };
    using Path = std::span<const std::string>;

    GoogleResult<nlohmann::json> answer(const ServerRequest &request, Path path);
    GoogleResult<nlohmann::json> ofProject(const Call &call, Path path);
    GoogleResult<nlohmann::json> ofRegion(const Call &call, const std::string &region, Path path);
    GoogleResult<nlohmann::json> ofZone(const Call &call, const std::string &zone, Path path);
    GoogleResult<nlohmann::json> aggregated(const Call &call, const std::string &what);
    GoogleResult<nlohmann::json> policies(const Call &call, const std::string &region, Path path);
    GoogleResult<nlohmann::json> createPolicy(const Call &call, const std::string &region);
    GoogleResult<nlohmann::json> deletePolicy(const Call &call, const std::string &region,
                                              const std::string &name);
    GoogleResult<nlohmann::json> reservations(const Call &call, const std::string &zone, Path path);
    GoogleResult<nlohmann::json> createReservation(const Call &call, const std::string &zone);
    static GoogleStatus checkResourceName(const std::string &name);
    /// \param scope  "region" or "zone"
    nlohmann::json operation(const Call &call, const std::string &scope, const std::string &place,
                             const std::string &type, const std::string &target);
    /// One that operation() made; discarded for another path.
    GoogleResult<nlohmann::json> operationAt(const Call &call, const std::string &place, Path path);

    [[nodiscard]] nlohmann::json region(const Call &call, const std::string &name) const;
    [[nodiscard]] nlohmann::json zone(const Call &call, const std::string &name) const;
    [[nodiscard]] nlohmann::json acceleratorTypes(const Call &call, const std::string &zone) const;
    [[nodiscard]] nlohmann::json machineTypes(const Call &call, const std::string &zone) const;

    GcpContext &m_context;
    const ComputeCatalog &m_catalog;
    Quotas &m_quotas;
    Projects m_projects;
    EnabledApis m_apis;
};

} // namespace cluster::local
