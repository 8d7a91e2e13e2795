#include "cluster/local/nodeagent/podman_runtime.h"

#include "cluster/local/nodeagent/launched_process.h"

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

std::string number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
}

struct CommandResult
{
    int exitCode = 0;
    std::string output;
};

/// Blocks. The output is cut at 4 KiB.
CommandResult runToEnd(const std::filesystem::path &initProgram, const PodmanContainer &container,
                       std::vector<std::string> words)
{
    boost::asio::io_context io;
    LaunchSpec launch;
    launch.arguments = std::move(words);
    launch.environment = container.environment;
    CommandResult result{125, {}};
    LaunchHandlers handlers;
    handlers.onOutput = [&result](OutputStream, std::string_view text) {
        constexpr std::size_t most = 4096;
        result.output.append(text.substr(0, most - std::min(most, result.output.size())));
    };
    handlers.onEnd = [&result](const LaunchEnd &end) {
        result.exitCode = end.startError.empty() ? end.exitCode : 125;
        result.output += end.startError;
    };
    const auto process = LaunchedProcess::launch(io, initProgram, std::move(launch), {}, std::move(handlers));
    if (!process)
        return {125, process.error().message};
    io.run();
    return result;
}

} // namespace

std::vector<std::string> podmanEnvironment()
{
    std::vector<std::string> environment;
    for (const char *name : {"HOME", "PATH", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}) {
        if (const char *value = std::getenv(name)) // NOLINT(concurrency-mt-unsafe): nothing here sets any
            environment.push_back(std::string(name) + "=" + value);
    }
    return environment;
}

std::vector<std::string> podmanRun(const PodmanRun &run)
{
    std::vector<std::string> words{run.container.program.string(),
                                   "run",
                                   "--rm",
                                   "--replace",
                                   "--pull=never",
                                   "--name=" + run.container.name,
                                   "--network=host",
                                   "--no-hosts",
                                   "--log-driver=none",
                                   "--hostname=" + run.hostName};
    if (run.spec.hasStdin)
        words.emplace_back("--interactive");
    if (run.spec.tty)
        words.emplace_back("--tty");
    if (run.spec.memoryLimit > 0)
        words.push_back("--memory=" + std::to_string(run.spec.memoryLimit) + "b");
    if (run.spec.cpuLimit > 0)
        words.push_back("--cpus=" + number(run.spec.cpuLimit));
    if (!run.workingFolder.empty())
        words.push_back("--workdir=" + run.workingFolder);
    for (const auto *list : {&run.variables, &run.plainVariables}) {
        for (const std::string &variable : *list)
            words.push_back("--env=" + variable);
    }
    words.push_back("--volume=" + run.hostsFile.string() + ":/etc/hosts:ro");
    for (const ContainerMount &mount : run.mounts)
        words.push_back("--volume=" + mount.source.string() + ":" + mount.target
                        + (mount.isReadOnly ? ":ro" : ""));
    if (!run.command.empty())
        words.push_back("--entrypoint=" + nlohmann::json(run.command).dump());
    words.emplace_back("--");
    words.push_back(run.spec.image);
    words.insert(words.end(), run.args.begin(), run.args.end());
    return words;
}

std::vector<std::string> podmanExec(const PodmanContainer &container, const std::vector<std::string> &command,
                                    bool hasStdin, bool hasTerminal)
{
    std::vector<std::string> words{container.program.string(), "exec"};
    if (hasStdin)
        words.emplace_back("--interactive");
    if (hasTerminal)
        words.emplace_back("--tty");
    words.push_back(container.name);
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

std::vector<std::string> podmanKill(const PodmanContainer &container)
{
    return {container.program.string(), "kill", container.name};
}

Status preparePodmanImage(const std::filesystem::path &initProgram, const PodmanContainer &container,
                          const ContainerSpec &spec)
{
    const std::string program = container.program.string();
    const bool isThere = spec.pullPolicy != PullPolicy::Always
        && runToEnd(initProgram, container, {program, "image", "exists", "--", spec.image}).exitCode == 0;
    if (isThere)
        return {};
    if (spec.pullPolicy == PullPolicy::Never)
        return fail(ErrorCode::Unavailable, "podman has no such image");
    const CommandResult pulled
        = runToEnd(initProgram, container, {program, "pull", "--quiet", "--", spec.image});
    if (pulled.exitCode == 0)
        return {};
    return fail(ErrorCode::Unavailable, "podman could not pull it: " + pulled.output);
}

} // namespace cluster::local
