#pragma once

#include "cluster/local/gcp/gcp_service.h"

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace cluster::local {

/// What an operation that only takes time will come to. Nothing runs meanwhile: it is done when the clock
/// says so, also after a restart.
struct OperationPlan
{
    std::int64_t endsAt = 0; ///< milliseconds since 1970: what the operation makes is there from then on
    std::optional<GoogleError> failure; ///< a fault on order; what it would have made must not be written
};

/// Operations of Google's small services (google.longrunning.Operation), kept as documents below
/// "operations/". They stand for work that happens at once here and takes its time at Google.
class TimedOperations
{
public:
    /// `service` as faults name it: "serviceusage".
    TimedOperations(GcpContext &context, std::string service)
        : m_context(context), m_service(std::move(service))
    {
    }

    /// `takes`: Google's usual time for it. Faults: failed-operation, slow-operation.
    [[nodiscard]] OperationPlan plan(const std::string &type, const std::string &location,
                                     std::chrono::milliseconds takes) const;

    /// Writes the operation down and returns it as one that has begun. Metadata and response go out as they
    /// are.
    GoogleResult<nlohmann::json> start(const std::string &name, const OperationPlan &plan,
                                       const nlohmann::json &metadata, const nlohmann::json &response);
    [[nodiscard]] GoogleResult<nlohmann::json> get(const std::string &name) const; ///< or NotFound
    /// Those whose name begins so.
    [[nodiscard]] GoogleResult<nlohmann::json> list(const std::string &prefix) const;
    /// Forgets those that were done more than 30 days ago.
    void sweep();

    [[nodiscard]] bool isOver(std::int64_t time) const; ///< milliseconds since 1970

private:
    [[nodiscard]] nlohmann::json wire(const nlohmann::json &stored) const;
    [[nodiscard]] std::string keyOf(const std::string &name) const
    {
        return "operations/" + m_service + "/" + name;
    }

    GcpContext &m_context;
    std::string m_service;
};

} // namespace cluster::local
