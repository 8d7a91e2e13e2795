#include "serve_command.h"

#include "engine/commandline/model_check.h"
#include "engine/commandline/serve_flags.h"
#include "engine/gguf/gguf_file.h"
#include "engine/serving/http_frontend.h"
#include "environment.h"
#include "exit_codes.h"
#include "program_log.h"
#include "server_process.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <spdlog/spdlog.h>

using namespace engine;

namespace {

constexpr auto command = "slipway-engine serve";

std::string inMebibytes(std::uint64_t bytes)
{
    return std::to_string(bytes / (1024 * 1024)) + " MiB";
}

/// Names of parsers that the HTTP side knows. Empty if all is well.
std::string parserProblem(const ServerOptions &options)
{
    const auto check = [](const char *kind, const std::string &name, const std::vector<std::string> &known) {
        if (name.empty() || std::find(known.begin(), known.end(), name) != known.end())
            return std::string();
        std::string all;
        for (const auto &entry : known)
            all += (all.empty() ? "" : ", ") + entry;
        return std::string("invalid ") + kind + ": " + name + " (chose from { " + all + " })";
    };
    auto problem = check("reasoning parser", options.reasoningParser, knownReasoningParsers());
    return problem.empty() ? check("tool call parser", options.toolCallParser, knownToolCallParsers())
                           : problem;
}

/// vLLM takes names there too; ours are slipwayctl's to look up.
std::string hintForName(const std::string &model, cluster::ErrorCode code)
{
    const bool isName = model.find('/') == std::string::npos && !model.ends_with(".gguf");
    if (code != cluster::ErrorCode::NotFound || (!isName && !model.starts_with("hf:")))
        return {};
    return "; this program takes the path of a GGUF file, 'slipwayctl serve " + model
        + "' the name of a model that 'slipwayctl models list' knows";
}

/// vLLM's flags that are only recorded here, and what is made of them.
void logParallelism(const ServeOptions &options, const GgufFacts &facts)
{
    const int stages = stageCount(options);
    if (options.tensorParallel > 1)
        spdlog::warn("--tensor-parallel-size {} is checked and recorded; layers are not split on this device",
                     options.tensorParallel);
    if (options.workers.empty() && stages > 1)
        spdlog::warn(
            "--pipeline-parallel-size {} is checked and recorded; without --rpc-worker all layers are here",
            stages);
    if (options.workers.empty())
        return;
    std::string split;
    for (const int layers : stageLayers(static_cast<int>(facts.layers), stages))
        split += (split.empty() ? "" : ",") + std::to_string(layers);
    spdlog::info("{} stages, {} of them on workers; about [{}] layers each", stages, options.workers.size(),
                 split);
    std::string names;
    for (const std::string &worker : options.workers)
        names += (names.empty() ? "" : ", ") + worker;
    spdlog::info("waiting up to {:g} s for the workers {}",
                 std::chrono::duration<double>(options.workerTimeout).count(), names);
}

void setUpRunner(ServeOptions &options, const GgufFacts &facts)
{
    std::error_code error;
    const auto absolute = std::filesystem::absolute(options.model, error);
    options.runner.modelPath = error ? options.model : absolute.string();
    if (!options.workers.empty()) {
        // The first stage is here when there is one more stage than workers: all layers but its own, and the
        // output layer, go to the workers.
        const bool firstIsHere = stageCount(options) > static_cast<int>(options.workers.size());
        const int here
            = firstIsHere ? stageLayers(static_cast<int>(facts.layers), stageCount(options)).front() : 0;
        options.runner.gpuLayers = firstIsHere ? static_cast<int>(facts.layers) - here + 1 : -1;
    }
}

} // namespace

int serveCommand(const std::vector<std::string> &arguments)
{
    auto options = parseServe(arguments, ownEnvironment);
    if (!options) {
        printError(command, options.error().message);
        return exitUsage;
    }
    if (options->help) {
        std::fputs(serveHelp().c_str(), stdout);
        return exitOk;
    }
    if (const auto problem = parserProblem(options->server); !problem.empty()) {
        printError(command, problem);
        return exitUsage;
    }
    startLog(options->logLevel);
    std::signal(SIGPIPE, SIG_IGN);
    for (const auto &warning : options->warnings)
        spdlog::warn("{}", warning);

    const auto facts = readGguf(options->model);
    if (!facts) {
        printError(command, facts.error().message + hintForName(options->model, facts.error().code));
        return exitCodeOf(facts.error().code, false);
    }
    if (const auto allowed = checkAgainstModel(*options, *facts); !allowed) {
        printError(command, allowed.error().message);
        return exitUsage;
    }
    spdlog::info("slipway-engine {}: model {} ({}, {} layers, {}, {}){}", SLIPWAY_VERSION, options->model,
                 facts->architecture, facts->layers,
                 facts->fileType.empty() ? "mixed types" : facts->fileType, inMebibytes(facts->fileBytes),
                 facts->isEmbeddingModel ? ", for embeddings only"
                     : facts->chatTemplate.empty() && options->runner.chatTemplate.empty()
                     ? ", without a chat template: for completions only"
                     : "");
    logParallelism(*options, *facts);
    setUpRunner(*options, *facts);
    options->server.version = SLIPWAY_VERSION;

    ServerProcess server(std::move(*options), buildName());
    const auto outcome = server.run();
    if (!outcome.message.empty())
        printError(command, outcome.message);
    return outcome.exitCode;
}
