#pragma once

#include "cluster/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// What vLLM's examples/online_serving/multi-node-serving.sh is asked for: the script that makes one Ray
/// cluster of the pods of a group, before the leader starts the server.
struct MultiNodeCall
{
    enum class Role { Leader, Worker };

    Role role = Role::Leader;
    int size = 0; ///< of the group, the leader included; only a leader says so
    std::string leader; ///< a worker's --ray_address
    int port = 6379;
    int timeoutSeconds = 300; ///< for the others to be there
};

/// The first call of the script among a container's commands; nothing if there is none. InvalidArgument,
/// with what the script itself prints: no size, no address, neither leader nor worker.
Result<std::optional<MultiNodeCall>> multiNodeCall(const std::vector<std::vector<std::string>> &commands);

/// Where the workers of a LeaderWorkerSet's group listen: pod `NAME-I` beside the leader `NAME`, as
/// "host:port", I = 1 to size - 1. \param leader  LWS_LEADER_ADDRESS, "vllm-0.vllm.default".
std::vector<std::string> groupWorkers(const std::string &leader, int size, int port);

/// What the engines of one group know each other by: no program outside of it joins.
/// \param secret  of the agent, any bytes
std::string groupToken(const std::string &secret, const std::string &nameSpace, const std::string &leader);

} // namespace cluster::local
