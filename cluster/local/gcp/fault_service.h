#pragma once

#include "cluster/local/gcp/gcp_service.h"

namespace cluster::local {

/// Faults on order, for slipwayctl and tests: GET, POST and DELETE /slipway/v1/faults, DELETE
/// /slipway/v1/faults/ID. A POST takes one fault, or {"faults": […]}, all or none of them.
class FaultService : public GcpService
{
public:
    explicit FaultService(GcpContext &context) : m_context(context) {}

    ServerResponse handle(const ServerRequest &request, std::span<const std::string> path) override;

private:
    ServerResponse add(const ServerRequest &request);

    GcpContext &m_context;
};

} // namespace cluster::local
