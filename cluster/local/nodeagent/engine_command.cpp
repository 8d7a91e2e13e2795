#include "cluster/local/nodeagent/engine_command.h"

#include "cluster/local/nodeagent/engine_group.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

/// Flags with a value that mean the real hardware or where real weights come from.
constexpr std::array droppedFlags{
    "--tensor-parallel-size",
    "-tp",
    "--pipeline-parallel-size",
    "-pp",
    "--data-parallel-size",
    "-dp",
    "--max-model-len",
    "--max-num-batched-tokens",
    "--max-num-seqs",
    "--gpu-memory-utilization",
    "--dtype",
    "--quantization",
    "-q",
    "--load-format",
    "--model-loader-extra-config",
    "--distributed-executor-backend",
    "--kv-cache-dtype",
    "--swap-space",
    "--cpu-offload-gb",
    "--block-size",
    "--download-dir",
    "--tokenizer",
    "--tokenizer-mode",
    "--revision",
    "--device",
    "--config-format",
    "--hf-overrides",
    "--compilation-config",
    "--additional-config",
    "--speculative-config",
    "--limit-mm-per-prompt",
    "--num-scheduler-steps",
    "--safetensors-load-strategy",
    "--max-loras",
    "--max-lora-rank",
};
/// The same, without a value.
constexpr std::array droppedSwitches{
    "--trust-remote-code",         "--enforce-eager",
    "--enable-expert-parallel",    "--enable-chunked-prefill",
    "--no-enable-prefix-caching",  "--disable-log-requests",
    "--disable-log-stats",         "--enable-lora",
    "--async-scheduling",          "--use-v2-block-manager",
    "--disable-custom-all-reduce",
};

template<typename Array>
bool isIn(const Array &names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// The words after `vllm serve`, `slipway-engine serve` or `-m vllm.entrypoints.openai.api_server`; nothing
/// where the command is another one.
std::optional<std::vector<std::string>> serverWords(const std::vector<std::string> &words)
{
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string base = fs::path(words[i]).filename().string();
        const bool isModule = words[i].starts_with("vllm.entrypoints.");
        const bool isServe
            = (base == "vllm" || base == "slipway-engine") && i + 1 < words.size() && words[i + 1] == "serve";
        if (isModule || isServe)
            return std::vector<std::string>(
                words.begin() + static_cast<std::ptrdiff_t>(i) + (isServe ? 2 : 1), words.end());
    }
    return std::nullopt;
}

/// The commands of the scripts that a container gives to a shell, or else its one command.
std::vector<std::vector<std::string>> commandsOf(const EngineCommandInput &input)
{
    std::vector<std::string> all = input.command;
    all.insert(all.end(), input.args.begin(), input.args.end());
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        if (all[i] != "-c" && all[i] != "-lc" && all[i] != "-ec" && all[i] != "-exc")
            continue;
        auto script = shellCommands(all[i + 1], input.variable);
        std::move(script.begin(), script.end(), std::back_inserter(commands));
    }
    commands.push_back(std::move(all));
    return commands;
}

std::vector<std::string> findServerWords(const std::vector<std::vector<std::string>> &commands)
{
    for (const auto &words : commands) {
        if (auto found = serverWords(words))
            return *found;
    }
    // The image's own entrypoint is `vllm serve` (or `slipway-engine`): what is given are its arguments.
    std::vector<std::string> all = commands.back();
    if (!all.empty() && all.front() == "serve")
        all.erase(all.begin());
    return all;
}

struct Parsed
{
    std::vector<std::string> passed; ///< flags that go on as they are
    std::string model, host, port;
    std::vector<std::string> servedNames;
    std::string apiKeys; ///< one a line
};

bool isFlag(const std::string &word)
{
    return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9');
}

Parsed parseServer(const std::vector<std::string> &words)
{
    Parsed parsed;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!isFlag(words[i])) {
            if (i == 0)
                parsed.model = words[i];
            continue;
        }
        std::string name = words[i];
        std::vector<std::string> values;
        if (const std::size_t equals = name.find('='); equals != std::string::npos) {
            values.push_back(name.substr(equals + 1));
            name.resize(equals);
        } else if (!isIn(droppedSwitches, name)) {
            while (i + 1 < words.size() && !isFlag(words[i + 1]))
                values.push_back(words[++i]);
        }
        std::replace(name.begin() + 2, name.end(), '_', '-');
        if (name == "--model" && !values.empty()) {
            parsed.model = values.front();
        } else if (name == "--host") {
            parsed.host = values.empty() ? "" : values.front();
        } else if (name == "--port" && !values.empty()) {
            parsed.port = values.front();
        } else if (name == "--served-model-name") {
            parsed.servedNames = values;
        } else if (name == "--api-key") {
            for (const std::string &value : values)
                parsed.apiKeys += value + "\n";
        } else if (!isIn(droppedFlags, name) && !isIn(droppedSwitches, name)) {
            parsed.passed.push_back(name);
            parsed.passed.insert(parsed.passed.end(), values.begin(), values.end());
        }
    }
    return parsed;
}

constexpr int mostWorkers = 16; // that an engine computes with

EngineCommand workerCommand(const EngineCommandInput &input, const MultiNodeCall &call)
{
    EngineCommand command;
    command.words
        = {input.program.string(), "worker", "--listen", input.address + ":" + std::to_string(call.port)};
    command.port = call.port;
    command.groupLeader = call.leader;
    return command;
}

/// The other pods of a leader's group compute as well.
void addGroup(const EngineCommandInput &input, const MultiNodeCall &call, EngineCommand &command)
{
    const std::string leader = input.variable("LWS_LEADER_ADDRESS");
    if (call.size < 2 || call.size > mostWorkers + 1 || leader.empty() || !input.knowsNames)
        return;
    command.groupLeader = leader;
    const std::vector<std::string> workers = groupWorkers(leader, call.size, call.port);
    command.words.insert(command.words.end(),
                         {"--pipeline-parallel-size", std::to_string(call.size), "--worker-timeout",
                          std::to_string(call.timeoutSeconds), "--rpc-worker"});
    command.words.insert(command.words.end(), workers.begin(), workers.end());
}

} // namespace

Result<fs::path> standInModel(const fs::path &folder, const std::string &name)
{
    std::error_code error;
    if (!name.empty()) {
        const fs::path file = folder / name; // an absolute name stays itself
        if (fs::is_regular_file(file, error))
            return file;
        return fail(ErrorCode::NotFound, "there is no model '" + file.string() + "'");
    }
    fs::path best;
    std::uintmax_t bestSize = 0;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
        const std::string file = entry.path().filename().string();
        // Base and embedding models don't chat.
        const bool canChat
            = file.find("nstruct") != std::string::npos || file.find("hat") != std::string::npos;
        if (entry.path().extension() != ".gguf" || !canChat)
            continue;
        const std::uintmax_t size = entry.file_size(error);
        if (best.empty() || size < bestSize) {
            best = entry.path();
            bestSize = size;
        }
    }
    if (best.empty())
        return fail(ErrorCode::NotFound,
                    "there is no chat model in '" + folder.string()
                        + "'; get one with: slipwayctl models pull smollm2");
    return best;
}

Result<EngineCommand> engineCommand(const EngineCommandInput &input)
{
    const auto commands = commandsOf(input);
    const auto group = multiNodeCall(commands);
    if (!group)
        return tl::unexpected(group.error());
    if (*group && (*group)->role == MultiNodeCall::Role::Worker)
        return workerCommand(input, **group);
    const Parsed parsed = parseServer(findServerWords(commands));
    EngineCommand command;
    command.model = input.standIn;
    std::error_code error;
    const fs::path own = fs::path(parsed.model).filename();
    if (own.extension() == ".gguf" && fs::is_regular_file(input.modelsFolder / own, error))
        command.model = input.modelsFolder / own;
    if (command.model.empty())
        return fail(ErrorCode::NotFound,
                    "there is no model to answer with in '" + input.modelsFolder.string()
                        + "'; get one with: slipwayctl models pull smollm2");
    std::vector<std::string> names = parsed.servedNames;
    if (names.empty())
        names.push_back(parsed.model.empty() ? command.model.stem().string() : parsed.model);
    command.servedName = names.front();
    std::string port = parsed.port;
    if (port.empty())
        port = std::to_string(input.containerPort > 0 ? input.containerPort : 8000);
    command.port = std::atoi(port.c_str());
    command.apiKeys = parsed.apiKeys;
    command.words = {input.program.string(), "serve", command.model.string()};
    command.words.insert(command.words.end(), parsed.passed.begin(), parsed.passed.end());
    command.words.insert(command.words.end(),
                         {"--host", input.address, "--port", port, "--served-model-name"});
    command.words.insert(command.words.end(), names.begin(), names.end());
    if (*group)
        addGroup(input, **group, command);
    return command;
}

} // namespace cluster::local
