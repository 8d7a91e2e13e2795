#pragma once

#include "cluster/httpd/server_message.h"
#include "cluster/local/runtimes/ray/hosted_replica.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// A model of a Ray Serve LLM application.
struct LlmModel
{
    std::string id, deployment;
    int maxLength = 0; ///< 0: not said
};

/// What is done with a request of the application: answered here, or passed to a model's replica.
struct LlmDecision
{
    std::optional<ServerResponse> answer;
    std::string deployment; ///< of the replica, where there is no answer
};

/// Ray Serve LLM's routes: model cards and errors in its own shapes (contracts: observed-ray/10-llm-*), what
/// generates is for the engine. \param requestId  of this request
LlmDecision decideLlmRequest(const ServerRequest &request, const std::vector<LlmModel> &models,
                             const std::string &requestId);

/// An error of the engine (vLLM's shape) in the shape that Ray Serve LLM makes of it.
ServerResponse llmError(int status, const std::string &engineBody, const std::string &requestId);

/// OpenAiIngress. `arguments`: models [{id, max_length, deployment}].
Result<std::unique_ptr<HostedReplica>> llmIngress(boost::asio::io_context &io, const std::string &address,
                                                  const ServeReplicaSpec &spec, HostedHandlers handlers);

} // namespace cluster::local
