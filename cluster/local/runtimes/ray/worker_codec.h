#pragma once

#include "cluster/base/result.h"
#include "cluster/local/runtimes/ray/ray_values.h"

#include <string>
#include <string_view>
#include <variant>

namespace cluster::local {

// The worker's end of the join protocol; see head_codec.h.

struct HeadWelcome
{
    std::string nodeId, session;
};
struct HeadRefusal
{
    std::string why;
};
struct HeadStart
{
    ServeReplicaSpec spec;
};
struct HeadStop
{
    std::string replica;
};
struct HeadPeers
{
    std::string replica;
    std::vector<ServeTarget> targets;
};
struct HeadProxy
{
    ServeProxyPlan plan;
};
struct HeadAlive
{
};
using HeadMessage
    = std::variant<HeadWelcome, HeadRefusal, HeadStart, HeadStop, HeadPeers, HeadProxy, HeadAlive>;

/// Any bytes may come. InvalidArgument: no message of a head.
Result<HeadMessage> readHeadMessage(std::string_view line);

std::string helloLine(const RayNodeFacts &facts);
std::string beatLine(const RayNodeStats &stats, const ServeTraffic &traffic);
std::string replicaReadyLine(const ServeReplicaReady &ready);
std::string replicaFailedLine(const std::string &replica, const std::string &error);
std::string proxyReadyLine();
std::string byeLine();

} // namespace cluster::local
