#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/local/nodeagent/probe_runner.h"

#include <chrono>
#include <string>

namespace cluster::local {

struct GrpcProbeRequest
{
    std::string shown; ///< "10.4.0.7:8080", for messages
    std::string address; ///< where that really is
    int port = 0;
    std::string service; ///< empty: the server as a whole
    std::chrono::milliseconds timeout{1000};
};

/// Asks grpc.health.v1.Health/Check, over plain HTTP/2. Blocks for the timeout at most.
ProbeResult checkGrpcHealth(const GrpcProbeRequest &request, const CancelToken &cancel);

/// The length-prefixed HealthCheckRequest as it goes over the wire.
std::string grpcHealthRequest(const std::string &service);

/// The status of a length-prefixed HealthCheckResponse; -1 where it is none.
int grpcHealthStatus(const std::string &body);

} // namespace cluster::local
