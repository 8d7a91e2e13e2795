#pragma once

#include "cluster/base/result.h"
#include "cluster/local/runtimes/ray/ray_values.h"

#include <string>
#include <string_view>
#include <variant>

namespace cluster::local {

// The head's end of the join protocol: one JSON object a line, with one member that names the message. The
// worker's end is worker_codec.h; the two share no code, so that neither can hide the other's mistakes.

struct WorkerHello
{
    int protocol = 0;
    RayNodeFacts facts;
};
struct WorkerBeat
{
    RayNodeStats stats;
    ServeTraffic traffic;
};
struct WorkerReplicaFailed
{
    std::string replica, error;
};
struct WorkerProxyReady
{
};
struct WorkerBye
{
};
using WorkerMessage = std::variant<WorkerHello, WorkerBeat, ServeReplicaReady, WorkerReplicaFailed,
                                   WorkerProxyReady, WorkerBye>;

constexpr int joinProtocol = 1;

/// Any bytes may come. InvalidArgument: no message, or one with a field of a wrong type or size.
Result<WorkerMessage> readWorkerMessage(std::string_view line);

std::string welcomeLine(const std::string &nodeId, const std::string &session);
std::string refusalLine(const std::string &why);
std::string startReplicaLine(const ServeReplicaSpec &spec);
std::string stopReplicaLine(const std::string &replica);
std::string peersLine(const std::string &replica, const std::vector<ServeTarget> &targets);
std::string proxyLine(const ServeProxyPlan &plan);
std::string aliveLine(); ///< the head's own sign of life

} // namespace cluster::local
