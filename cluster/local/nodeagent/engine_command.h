#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/shell_words.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cluster::local {

struct EngineCommandInput
{
    std::vector<std::string> command, args; ///< the container's, variables expanded
    VariableOf variable; ///< of the container's environment, for `sh -c` scripts
    std::string address; ///< to listen on
    bool knowsNames = true; ///< other pods' names can be resolved: a group over several pods is possible
    int containerPort = 0; ///< where the command names none; 0: 8000
    std::filesystem::path program; ///< slipway-engine
    std::filesystem::path modelsFolder;
    std::filesystem::path standIn; ///< the model that answers for those that aren't in modelsFolder
};

struct EngineCommand
{
    std::vector<std::string> words; ///< to be run, program first
    std::filesystem::path model; ///< that answers
    std::string servedName;
    int port = 0;
    std::string groupLeader; ///< address of the leader of the group that it is of; empty: computes alone
    std::string apiKeys; ///< one a line; for SLIPWAY_API_KEYS, since command lines can be read by everybody
};

/// What runs in place of a model server: vLLM's command line (also inside `sh -c`) with the model replaced by
/// a small one, its name kept as the served name, and without the flags that only make sense on the real
/// hardware (parallel sizes, memory shares, loaders). With vLLM's multi-node-serving.sh, on the pods of a
/// LeaderWorkerSet, one engine over all of them: a stage of layers on each, whatever the parallel sizes say.
/// NotFound: no model to answer with. InvalidArgument: what the script would refuse.
Result<EngineCommand> engineCommand(const EngineCommandInput &input);

/// The model that stands in by default: the one named (in `folder`, or absolute), else the smallest that can
/// chat.
Result<std::filesystem::path> standInModel(const std::filesystem::path &folder, const std::string &name);

} // namespace cluster::local
