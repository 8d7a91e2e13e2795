#include "engine/commandline/serve_flags.h"

#include "engine/commandline/arguments.h"
#include "engine/commandline/config_file.h"
#include "engine/commandline/flag_values.h"
#include "engine/commandline/ignored_flags.h"
#include <algorithm>
#include <array>

namespace engine {
namespace {

using cluster::ErrorCode;
using cluster::fail;
using Kind = Flag::Kind;

constexpr int maxParallel = 1024;
constexpr int maxRunningSeqs = 128; // half of libllama's 256 sequences; the rest holds shared prefixes

Flag::Apply toText(std::string &target)
{
    return [&target](const std::string &value) -> cluster::Status {
        target = value;
        return {};
    };
}

Flag::Apply toList(std::vector<std::string> &target)
{
    return [&target](const std::string &value) -> cluster::Status {
        target.push_back(value);
        return {};
    };
}

Flag::Apply toSwitch(bool &target)
{
    return [&target](const std::string &value) -> cluster::Status {
        target = value == "true";
        return {};
    };
}

template<typename T>
Flag::Apply toInteger(T &target, std::int64_t smallest, std::int64_t largest = std::numeric_limits<T>::max())
{
    return [&target, smallest, largest](const std::string &value) -> cluster::Status {
        const auto number = parseHumanInteger(value, smallest, largest);
        if (!number)
            return tl::unexpected(number.error());
        target = static_cast<T>(*number);
        return {};
    };
}

Flag::Apply toSeconds(std::chrono::milliseconds &target)
{
    return [&target](const std::string &value) -> cluster::Status {
        const auto seconds = parseInteger(value, 0, 1'000'000);
        if (!seconds)
            return tl::unexpected(seconds.error());
        target = std::chrono::seconds(*seconds);
        return {};
    };
}

Flag::Apply toOneOf(std::string &target, std::vector<std::string> choices)
{
    return [&target, choices = std::move(choices)](const std::string &value) -> cluster::Status {
        if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
            std::string all;
            for (const auto &choice : choices)
                all += (all.empty() ? "" : ", ") + choice;
            return fail(ErrorCode::InvalidArgument,
                        "invalid choice: '" + value + "' (choose from " + all + ")");
        }
        target = value;
        return {};
    };
}

/// vLLM's JSON lists such as '["*"]', or plain words.
Flag::Apply toOrigins(std::vector<std::string> &target)
{
    return [&target](const std::string &value) -> cluster::Status {
        std::string word;
        for (const char letter : value + ",") {
            if (letter != ',' && letter != '[' && letter != ']' && letter != '"' && letter != '\''
                && letter != ' ')
                word.push_back(letter);
            else if (!word.empty())
                target.push_back(std::exchange(word, {}));
        }
        return {};
    };
}

void addHttpFlags(std::vector<Flag> &flags, ServeOptions &o, std::string &dialect)
{
    auto &s = o.server;
    flags.push_back({"--host", Kind::Value, "ADDRESS", "listen here (default 127.0.0.1: this host only)",
                     [&o](const std::string &value) -> cluster::Status {
                         o.hostGiven = true;
                         o.server.host = value;
                         return {};
                     }});
    flags.push_back(
        {"--port", Kind::Value, "N", "listen here (default 8000; 0: any free one)", toInteger(s.port, 0)});
    flags.push_back({"--api-key", Kind::Values, "KEY...", "clients must send one of these as a bearer token",
                     toList(s.apiKeys)});
    flags.push_back({"--served-model-name", Kind::Values, "NAME...",
                     "names in the API (default: MODEL); the first is in answers and metrics",
                     toList(s.servedModelNames)});
    flags.push_back({"--api-dialect", Kind::Value, "0.8|newest",
                     "which vLLM to be like on the wire (default newest)",
                     toOneOf(dialect, {"0.8", "newest"})});
    flags.push_back(
        {"--root-path", Kind::Value, "PATH", "prefix of all routes behind a proxy", toText(s.rootPath)});
    flags.push_back(
        {"--allowed-origins", Kind::Values, "ORIGIN...", "for browsers (CORS)", toOrigins(s.allowedOrigins)});
    flags.push_back(
        {"--allowed-methods", Kind::Value, "LIST", "for browsers (CORS)", toText(s.allowedMethods)});
    flags.push_back(
        {"--allowed-headers", Kind::Value, "LIST", "for browsers (CORS)", toText(s.allowedHeaders)});
    flags.push_back(
        {"--allow-credentials", Kind::Switch, "", "for browsers (CORS)", toSwitch(s.allowCredentials)});
    flags.push_back({"--max-num-queued-reqs", Kind::Value, "N",
                     "above this, 503 with Retry-After (default: no limit)",
                     toInteger(s.maxNumQueuedRequests, 0)});
    flags.push_back({"--max-num-queued-tokens", Kind::Value, "N", "likewise, of prompt tokens that wait",
                     toInteger(s.maxNumQueuedTokens, 0)});
    flags.push_back({"--enable-request-id-headers", Kind::Switch, "", "X-Request-Id in each answer",
                     toSwitch(s.requestIdHeaders)});
    flags.push_back({"--enable-server-load-tracking", Kind::Switch, "", "count running requests in /load",
                     toSwitch(s.loadTracking)});
    flags.push_back({"--enable-prompt-tokens-details", Kind::Switch, "", "cached tokens in usage",
                     toSwitch(s.promptTokensDetails)});
    flags.push_back({"--enable-force-include-usage", Kind::Switch, "", "usage in every stream",
                     toSwitch(s.forceIncludeUsage)});
    flags.push_back({"--return-tokens-as-token-ids", Kind::Switch, "", "logprobs name tokens by number",
                     toSwitch(s.returnTokensAsTokenIds)});
    flags.push_back({"--shutdown-timeout", Kind::Value, "SECONDS",
                     "how long requests may finish at the end (default 0)", toSeconds(s.shutdownTimeout)});
}

void addChatFlags(std::vector<Flag> &flags, ServeOptions &o)
{
    auto &s = o.server;
    flags.push_back({"--chat-template", Kind::Value, "FILE|TEXT", "Jinja template instead of the model's own",
                     [&o](const std::string &value) -> cluster::Status {
                         auto text = readChatTemplate(value);
                         if (!text)
                             return tl::unexpected(text.error());
                         o.runner.chatTemplate = std::move(*text);
                         return {};
                     }});
    flags.push_back({"--trust-request-chat-template", Kind::Switch, "",
                     "requests may bring their own template", toSwitch(s.trustRequestChatTemplate)});
    flags.push_back({"--response-role", Kind::Value, "ROLE", "role of answers (default assistant)",
                     toText(s.responseRole)});
    flags.push_back({"--reasoning-parser", Kind::Value, "NAME",
                     "splits <think> from the answer: deepseek_r1, qwen3, ...", toText(s.reasoningParser)});
    flags.push_back({"--enable-auto-tool-choice", Kind::Switch, "",
                     "tool_choice auto; needs --tool-call-parser", toSwitch(s.enableAutoToolChoice)});
    flags.push_back({"--tool-call-parser", Kind::Value, "NAME",
                     "how the model writes tool calls: hermes, ...", toText(s.toolCallParser)});
    flags.push_back({"--max-logprobs", Kind::Value, "N",
                     "most logprobs of a request (default 20; -1: no limit)", toInteger(s.maxLogprobs, -1)});
}

void addEngineFlags(std::vector<Flag> &flags, ServeOptions &o, std::string &policy)
{
    auto &r = o.runner;
    flags.push_back(
        {"--model", Kind::Value, "PATH", "the GGUF file, if not given as the first word", toText(o.model)});
    flags.push_back({"--max-model-len", Kind::Value, "N",
                     "prompt and output together, tokens: 4096, 4k, 4K (default: the model's)",
                     [&r](const std::string &value) -> cluster::Status {
                         if (value == "auto" || value == "-1")
                             return {};
                         return toInteger(r.maxModelLen, 1)(value);
                     }});
    flags.push_back({"--max-num-seqs", Kind::Value, "N", "requests that run at once (default 32, most 128)",
                     [&o](const std::string &value) -> cluster::Status {
                         auto status = toInteger(o.runner.maxNumSeqs, 1)(value);
                         if (status && o.runner.maxNumSeqs > maxRunningSeqs) {
                             o.warnings.push_back("--max-num-seqs " + value
                                                  + " is more than the engine can run at once; "
                                                  + std::to_string(maxRunningSeqs) + " is used");
                             o.runner.maxNumSeqs = maxRunningSeqs;
                         }
                         return status;
                     }});
    flags.push_back({"--max-num-batched-tokens", Kind::Value, "N", "token budget of a step (default 256)",
                     toInteger(r.maxNumBatchedTokens, 1, 65'536)});
    flags.push_back({"--kv-cache-tokens", Kind::Value, "N",
                     "size of the KV cache (default: from the two above)", toInteger(r.kvCacheTokens, 1)});
    flags.push_back({"--enable-prefix-caching", Kind::Switch, "",
                     "share equal beginnings of prompts (default on)", toSwitch(r.prefixCaching)});
    flags.push_back({"--scheduling-policy", Kind::Value, "fcfs|priority",
                     "what `priority` of a request does in the 0.8 dialect",
                     toOneOf(policy, {"fcfs", "priority"})});
    flags.push_back({"--threads", Kind::Value, "N", "for inference (default: by the free cores)",
                     toInteger(r.threads, 1, 1024)});
    flags.push_back({"--gpu-layers", Kind::Value, "N",
                     "layers on the GPU of a GPU build (default 0; -1: all)", toInteger(r.gpuLayers, -1)});
    flags.push_back({"--dtype", Kind::Value, "TYPE",
                     "checked and recorded; the file's own types are computed with",
                     toOneOf(o.dtype, {"auto", "half", "float16", "bfloat16", "float", "float32"})});
    flags.push_back({"--seed", Kind::Value, "N", "for requests without a seed (default 0)",
                     toInteger(r.seed, std::numeric_limits<std::int64_t>::min())});
    flags.push_back({"--check-tensors", Kind::Switch, "",
                     "look for NaN in the weights while loading (slower)", toSwitch(r.checkTensors)});
}

void addGroupFlags(std::vector<Flag> &flags, ServeOptions &o)
{
    flags.push_back({"--tensor-parallel-size", Kind::Value, "N",
                     "recorded and checked against the model's heads",
                     toInteger(o.tensorParallel, 1, maxParallel)});
    flags.push_back({"--pipeline-parallel-size", Kind::Value, "N",
                     "stages of layers: with N workers, one on each; with N-1, the first one here",
                     toInteger(o.pipelineParallel, 1, maxParallel)});
    flags.push_back({"--rpc-worker", Kind::Values, "HOST:PORT...",
                     "`slipway-engine worker`s, in the order of their stages",
                     [&o](const std::string &value) -> cluster::Status {
                         const auto endpoint = parseHostPort(value);
                         if (!endpoint)
                             return tl::unexpected(endpoint.error());
                         if (endpoint->port == 0)
                             return fail(ErrorCode::InvalidArgument, "'" + value + "' has port 0");
                         o.workers.push_back(value);
                         return {};
                     }});
    flags.push_back({"--worker-token-file", Kind::Value, "FILE",
                     "secret that the workers were started with (or SLIPWAY_WORKER_TOKEN)",
                     [&o](const std::string &value) -> cluster::Status {
                         auto token = readSecretFile(value);
                         if (!token)
                             return tl::unexpected(token.error());
                         o.workerToken = std::move(*token);
                         return {};
                     }});
    flags.push_back({"--worker-timeout", Kind::Value, "SECONDS", "for all workers to be there (default 30)",
                     toSeconds(o.workerTimeout)});
}

void addOtherFlags(std::vector<Flag> &flags, ServeOptions &o)
{
    flags.push_back({"--log-level", Kind::Value, "LEVEL",
                     "debug, info, warning, error (default info; or VLLM_LOGGING_LEVEL)",
                     toOneOf(o.logLevel, {"debug", "info", "warning", "error"})});
    flags.push_back(
        {"--enable-log-requests", Kind::Switch, "", "one line for each request", toSwitch(o.logRequests)});
    flags.push_back({"--config", Kind::Value, "FILE", "YAML file of flags; the command line wins",
                     [](const std::string & /*path*/) -> cluster::Status { return {}; }});
    flags.push_back({"--help", Kind::Switch, "", "this text", toSwitch(o.help)});
}

/// What the flags write to; the options refer to it, so it stays where it is.
struct Target
{
    ServeOptions options;
    std::string dialect = "newest";
    std::string policy = "fcfs";
    bool modelIsPositional = false;
};

CommandLine commandLine(Target &target)
{
    CommandLine line;
    line.command = "slipway-engine serve";
    auto &options = target.options;
    addEngineFlags(line.flags, options, target.policy);
    addHttpFlags(line.flags, options, target.dialect);
    addChatFlags(line.flags, options);
    addGroupFlags(line.flags, options);
    addOtherFlags(line.flags, options);
    for (auto &flag : ignoredFlags())
        line.flags.push_back(std::move(flag));
    line.aliases = {{"-tp", "--tensor-parallel-size"},
                    {"-pp", "--pipeline-parallel-size"},
                    {"-dp", "--data-parallel-size"},
                    {"-q", "--quantization"},
                    {"-O", "--compilation-config"},
                    {"-ep", "--enable-expert-parallel"},
                    {"-asc", "--api-server-count"},
                    {"-dcp", "--decode-context-parallel-size"},
                    {"-h", "--help"}};
    line.positional = [&target](const std::string &word) -> cluster::Status {
        if (target.modelIsPositional)
            return fail(ErrorCode::InvalidArgument,
                        "unexpected argument '" + word + "': the model is '" + target.options.model
                            + "' already");
        target.options.model = word;
        target.modelIsPositional = true;
        return {};
    };
    line.warn = [&options](const std::string &text) { options.warnings.push_back(text); };
    return line;
}

cluster::Status applyEnvironment(ServeOptions &options, const Environment &environment)
{
    if (const auto level = environment("VLLM_LOGGING_LEVEL")) {
        std::string lower = *level;
        std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
        });
        if (lower == "debug" || lower == "info" || lower == "warning" || lower == "error")
            options.logLevel = lower;
    }
    if (const auto seconds = environment("VLLM_ENGINE_ITERATION_TIMEOUT_S")) {
        if (auto status = toSeconds(options.stepDeadline)(*seconds);
            !status || options.stepDeadline.count() == 0)
            return fail(ErrorCode::InvalidArgument,
                        "VLLM_ENGINE_ITERATION_TIMEOUT_S must be a number of seconds, not '" + *seconds
                            + "'");
    }
    options.workerToken = environment("SLIPWAY_WORKER_TOKEN").value_or("");
    options.allowLongContext = environment("VLLM_ALLOW_LONG_MAX_MODEL_LEN").value_or("0") == "1";
    return {};
}

cluster::Status checkTogether(const ServeOptions &o)
{
    if (o.model.empty())
        return fail(ErrorCode::InvalidArgument,
                    "no model: give the path of a GGUF file, as in `slipway-engine serve model.gguf`");
    if (o.runner.maxNumBatchedTokens < o.runner.maxNumSeqs)
        return fail(ErrorCode::InvalidArgument,
                    "max_num_batched_tokens (" + std::to_string(o.runner.maxNumBatchedTokens)
                        + ") must be greater than or equal to max_num_seqs ("
                        + std::to_string(o.runner.maxNumSeqs) + ").");
    if (o.server.enableAutoToolChoice && o.server.toolCallParser.empty())
        return fail(ErrorCode::InvalidArgument, "--enable-auto-tool-choice requires --tool-call-parser");
    const int workers = static_cast<int>(o.workers.size());
    if (workers > 0 && o.pipelineParallel > 0 && o.pipelineParallel != workers
        && o.pipelineParallel != workers + 1)
        return fail(ErrorCode::InvalidArgument,
                    "--pipeline-parallel-size " + std::to_string(o.pipelineParallel) + " does not go with "
                        + std::to_string(workers) + " workers: it must be " + std::to_string(workers)
                        + " (all layers on workers) or " + std::to_string(workers + 1)
                        + " (the first stage here)");
    constexpr int mostWorkers = 16; // what ggml's RPC client can hold
    if (workers > mostWorkers)
        return fail(ErrorCode::InvalidArgument,
                    "--rpc-worker: at most " + std::to_string(mostWorkers) + " workers are possible");
    return {};
}

} // namespace

cluster::Result<ServeOptions> parseServe(const std::vector<std::string> &arguments,
                                         const Environment &environment)
{
    const auto all = withConfigFile(arguments);
    if (!all)
        return tl::unexpected(all.error());
    Target target;
    auto &options = target.options;
    options.server.host = "127.0.0.1";
    if (auto status = applyEnvironment(options, environment); !status)
        return tl::unexpected(status.error());
    if (auto status = applyArguments(commandLine(target), *all); !status)
        return tl::unexpected(status.error());
    if (options.help)
        return std::move(options);
    if (auto status = checkTogether(options); !status)
        return tl::unexpected(status.error());

    auto &server = options.server;
    server.dialect = target.dialect == "0.8" ? ApiDialect::V085 : ApiDialect::Newest;
    server.prioritySchedulingInOldDialect = target.policy == "priority";
    server.modelRoot = options.model;
    if (server.servedModelNames.empty())
        server.servedModelNames.push_back(options.model);
    if (server.apiKeys.empty())
        server.apiKeys = linesOf(environment("SLIPWAY_API_KEYS").value_or(""));
    if (const auto key = environment("VLLM_API_KEY"); key && !key->empty() && server.apiKeys.empty())
        server.apiKeys.push_back(*key);
    if (!isLoopback(server.host) && server.apiKeys.empty())
        options.warnings.push_back(
            "listening on " + (server.host.empty() ? std::string("all addresses") : server.host)
            + " without --api-key: everybody who can reach this host can use the model");
    return std::move(options);
}

std::string serveHelp()
{
    Target target;
    return "usage: slipway-engine serve MODEL [flags]\n\n"
           "Serves a GGUF model on vLLM's HTTP API. Flags are vLLM's; those that mean nothing here are taken "
           "with a "
           "warning.\n\n"
        + describeFlags(commandLine(target));
}

} // namespace engine
