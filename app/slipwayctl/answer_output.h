#pragma once

#include "app/slipwayctl/command_line.h"
#include "cluster/openai/client.h"

namespace slipwayctl {

struct GenerationOptions
{
    cluster::SamplingParameters sampling;
    std::string extraJson;
    bool showsReasoning = false;
};

/// Adds --temperature, --max-tokens, --stop and their kin.
void addGenerationOptions(CLI::App &command, GenerationOptions &options);

/// Prints an answer while it streams, and at its end what was measured.
class AnswerOutput
{
public:
    AnswerOutput(CommandContext &context, bool showsReasoning);

    /// For the call; `cancel` is set off when nobody reads the output any more.
    cluster::StreamHandlers handlers(cluster::CancelSource &cancel);

    /// The end of the line, the measurements, or the error; sets the exit status.
    void finish(const cluster::AnswerOutcome &outcome);

private:
    void show(const cluster::ChoiceDelta &delta);

    CommandContext &m_context;
    bool m_showsReasoning;
    bool m_isReasoning = false;
    bool m_hasText = false;
    bool m_isReaderGone = false;
};

} // namespace slipwayctl
