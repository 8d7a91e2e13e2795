#include "engine/commandline/model_check.h"

#include <algorithm>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

int stageCount(const ServeOptions &options)
{
    if (options.pipelineParallel > 0)
        return options.pipelineParallel;
    return std::max(1, static_cast<int>(options.workers.size()));
}

std::vector<int> stageLayers(int layers, int stages)
{
    std::vector<int> split(static_cast<std::size_t>(stages), layers / stages);
    const int rest = layers % stages;
    for (int i = 0; i < rest; ++i) {
        const int stage = stages - 2 - i; // the last one also has the output layer
        ++split[static_cast<std::size_t>(stage >= 0 ? stage : stages - 1)];
    }
    return split;
}

cluster::Status checkAgainstModel(const ServeOptions &options, const GgufFacts &facts)
{
    const int tp = options.tensorParallel;
    if (facts.heads > 0 && facts.heads % tp != 0)
        return fail(ErrorCode::InvalidArgument,
                    "Total number of attention heads (" + std::to_string(facts.heads)
                        + ") must be divisible by tensor parallel size (" + std::to_string(tp) + ").");
    if (facts.kvHeads > 0 && facts.kvHeads % tp != 0 && tp % facts.kvHeads != 0)
        return fail(ErrorCode::InvalidArgument,
                    "Total number of key/value heads (" + std::to_string(facts.kvHeads)
                        + ") and tensor parallel size (" + std::to_string(tp) + ") must divide one another.");
    if (facts.feedForwardSize > 0 && facts.feedForwardSize % tp != 0)
        return fail(ErrorCode::InvalidArgument,
                    std::to_string(facts.feedForwardSize) + " is not divisible by " + std::to_string(tp)
                        + " (feed-forward size and tensor parallel size).");
    const int stages = stageCount(options);
    if (stages > facts.layers)
        return fail(ErrorCode::InvalidArgument,
                    "Pipeline parallel size (" + std::to_string(stages)
                        + ") must not be larger than the number of layers (" + std::to_string(facts.layers)
                        + ").");
    if (options.runner.maxModelLen > facts.contextLength && !options.allowLongContext)
        return fail(ErrorCode::InvalidArgument,
                    "User-specified max_model_len (" + std::to_string(options.runner.maxModelLen)
                        + ") is greater than the derived max_model_len (context_length="
                        + std::to_string(facts.contextLength)
                        + " in the model's header). This may lead to incorrect model outputs. To allow "
                          "overriding this "
                          "maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1");
    return {};
}

} // namespace engine
