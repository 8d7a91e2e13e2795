#pragma once

#include "cluster/local/gcp/documents.h"
#include "cluster/local/gcp/google_error.h"

#include <optional>
#include <string>
#include <string_view>

namespace cluster::local {

/// A resource policy of a region, as far as node pools depend on it.
struct ResourcePolicy
{
    std::string name;
    bool isWorkload = false; ///< else it places a group
    std::string type; ///< of a workload policy: "HIGH_THROUGHPUT"
    std::string topology; ///< of a workload policy: "2x2x2", or empty
};

/// VMs that are set aside in a zone.
struct Reservation
{
    std::string machineType;
    int count = 0;
};

/// What Compute Engine says to a path of which there is nothing.
tl::unexpected<GoogleError> missingResource(const std::string &path);

// Keys of their documents; without a name, what all of a place begin with.
std::string policyKey(const std::string &project, const std::string &region, const std::string &name = {});
std::string reservationKey(const std::string &project, const std::string &zone, const std::string &name = {});

/// Whether Compute Engine takes the policy ("resource" of its messages): one kind, with its fields.
GoogleStatus checkPolicyBody(const nlohmann::json &body);
GoogleStatus checkReservationBody(const nlohmann::json &body);

GoogleResult<std::optional<ResourcePolicy>> resourcePolicy(const Documents &documents,
                                                           const std::string &project,
                                                           const std::string &region,
                                                           const std::string &name);
/// \param name  as an affinity has it: "R", "projects/P/reservations/R", also with a block behind it
GoogleResult<std::optional<Reservation>> reservation(const Documents &documents, const std::string &project,
                                                     const std::string &zone, const std::string &name);

} // namespace cluster::local
