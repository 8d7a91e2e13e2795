#pragma once

#include "cluster/local/runtimes/ray/hosted_replica.h"

namespace cluster::local {

/// What a node's engines are started with.
struct EngineProgram
{
    std::string program; ///< slipway-engine
    std::string model; ///< GGUF file that answers for all
    std::vector<std::string> environment; ///< "NAME=value"
};

/// LLMServer: `slipway-engine serve` on a port of its own, with the hosts of its slice as workers.
/// `arguments`: model_id, workers ("HOST:PORT", of its shards). Ready when it answers /health.
Result<std::unique_ptr<HostedReplica>> engineServer(boost::asio::io_context &io, const std::string &address,
                                                    const EngineProgram &engine, const ServeReplicaSpec &spec,
                                                    HostedHandlers handlers);
/// A further host of it: `slipway-engine worker`.
Result<std::unique_ptr<HostedReplica>> engineShard(boost::asio::io_context &io, const std::string &address,
                                                   const EngineProgram &engine, HostedHandlers handlers);

} // namespace cluster::local
