#include "app/slipwayctl/local_command.h"

#include "app/slipwayctl/daemon_process.h"
#include "cluster/local/daemon/environment.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

namespace slipwayctl {

using cluster::ErrorCode;
using cluster::local::LocalPaths;

namespace {

struct StartOptions
{
    int port = 0;
    double speed = 0;
    bool allowsProcesses = false;
    bool allowsPodman = false;
    std::int64_t stopIdle = 0; ///< seconds
};

std::vector<std::string> daemonArguments(const LocalPaths &paths, const StartOptions &options)
{
    std::vector<std::string> arguments = {"--dir", paths.root.string()};
    if (options.port > 0)
        arguments.insert(arguments.end(), {"--port", std::to_string(options.port)});
    if (options.speed > 0)
        arguments.insert(arguments.end(), {"--speed", std::to_string(options.speed)});
    if (options.allowsProcesses)
        arguments.emplace_back("--allow-processes");
    if (options.allowsPodman)
        arguments.emplace_back("--allow-podman");
    if (options.stopIdle > 0)
        arguments.insert(arguments.end(), {"--stop-idle", std::to_string(options.stopIdle) + "s"});
    return arguments;
}

/// What was asked for and is not so with the one that runs; empty: nothing.
std::string otherSettings(const StartOptions &options, const cluster::local::DaemonClient &daemon)
{
    std::vector<std::string> others;
    if (options.port > 0 && options.port != daemon.state().port)
        others.push_back("its port is " + std::to_string(daemon.state().port));
    const auto status = daemon.ask("GET", "status");
    const nlohmann::json settings
        = status ? status->value("settings", nlohmann::json::object()) : nlohmann::json::object();
    constexpr double nearly = 1e-6;
    const double speed = settings.value("speed", options.speed);
    if (options.speed > 0 && std::abs(speed - options.speed) > nearly * speed)
        others.push_back("its speed is " + nlohmann::json(speed).dump());
    if (options.allowsProcesses && !settings.value("allowProcesses", true))
        others.emplace_back("it does not allow processes");
    const std::int64_t stopIdle = settings.value("stopIdleSeconds", options.stopIdle);
    if (options.stopIdle > 0 && stopIdle != options.stopIdle)
        others.push_back(stopIdle == 0 ? std::string("its clusters never fall asleep")
                                       : "its clusters fall asleep after " + shortTime(stopIdle));
    std::string text;
    for (const std::string &other : others)
        text += (text.empty() ? "" : ", ") + other;
    return text;
}

void start(CommandContext &context, const StartOptions &options)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    cluster::HttpClient http;
    const cluster::CancelToken cancel = context.interrupts.begin();
    if (cluster::Status made = cluster::local::makeFolders(*paths); !made)
        return report(context, made.error());
    const bool ranAlready = isServing(*paths, http);
    if (!ranAlready) {
        const auto started
            = startDaemon(context.programPath, *paths, daemonArguments(*paths, options), http, cancel);
        if (!started)
            return report(context, started.error());
    }
    const auto daemon = runningDaemon(context, http);
    if (!daemon)
        return;
    if (const std::string others = ranAlready ? otherSettings(options, *daemon) : ""; !others.empty())
        return report(context,
                      {ErrorCode::FailedPrecondition,
                       "the local target runs already at " + daemon->state().url()
                           + " and was left as it is: " + others
                           + ". 'slipwayctl local stop' first, then start it as you want it"});
    const auto status = daemon->ask("GET", "status");
    const std::string missing = status ? status->value("missing", "") : "";
    if (context.wantsJson) {
        printJson({{"url", daemon->state().url()},
                   {"pid", daemon->state().pid},
                   {"directory", paths->root.string()},
                   {"ranAlready", ranAlready},
                   {"missing", missing}});
        return;
    }
    print(std::string("The local target ") + (ranAlready ? "runs already at " : "runs at ")
          + daemon->state().url() + "\n");
    if (!missing.empty())
        print("But " + missing + ".\n");
    remark(context, "For gcloud, kubectl and curl in this shell:  eval \"$(slipwayctl local env)\"");
}

void stop(CommandContext &context)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    cluster::HttpClient http;
    const auto stopped = stopDaemon(*paths, http, context.interrupts.begin());
    if (!stopped)
        return report(context, stopped.error());
    if (context.wantsJson)
        printJson({{"stopped", *stopped}});
    else
        print(*stopped ? "The local target has stopped; its clusters come back with the next start.\n"
                       : "The local target does not run.\n");
}

void reset(CommandContext &context, bool isSure)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    if (!isSure) {
        report(context,
               {ErrorCode::InvalidArgument,
                "reset deletes all clusters, buckets and projects in " + paths->root.string()
                    + ": say --yes if that is what you want"});
        context.exitStatus = exitUsage;
        return;
    }
    cluster::HttpClient http;
    if (const auto stopped = stopDaemon(*paths, http, context.interrupts.begin()); !stopped)
        return report(context, stopped.error());
    // Only what is the target's own: the folder may be one that the user named.
    std::error_code error;
    for (const char *name : {"run", "tls", "clusters", "buckets", "gcloud", "token", "kubeconfig", "metrics",
                             "gcp.sqlite", "gcp.sqlite-wal", "gcp.sqlite-shm", "slipwayd.log"}) {
        std::filesystem::remove_all(paths->root / name, error);
        if (error)
            return report(context,
                          {ErrorCode::PermissionDenied,
                           "can't remove " + (paths->root / name).string() + ": " + error.message()});
    }
    if (context.wantsJson)
        printJson({{"reset", true}});
    else
        print("The local target is as new.\n");
}

/// In single quotes for sh, whatever it holds.
std::string quoted(const std::string &text)
{
    std::string result = "'";
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

void env(CommandContext &context, bool isUnset)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    cluster::HttpClient http;
    const auto state = cluster::local::readDaemonState(*paths);
    if (!state || (!isUnset && !runningDaemon(context, http))) {
        if (!state)
            report(context,
                   {ErrorCode::FailedPrecondition,
                    "the local target does not run: 'slipwayctl local start' starts it"});
        return;
    }
    const auto token = cluster::local::tokenOf(*paths);
    if (!token)
        return report(context, token.error());
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    std::string text;
    for (const auto &[name, value] : cluster::local::environmentFor(*paths, *state, *token)) {
        json[name] = value;
        text += isUnset ? "unset " + name + "\n" : "export " + name + "=" + quoted(value) + "\n";
    }
    if (context.wantsJson)
        printJson(json);
    else
        print(text);
}

} // namespace

std::optional<LocalPaths> localPathsFor(CommandContext &context)
{
    auto paths = cluster::local::localPaths();
    if (paths)
        return *paths;
    report(context, paths.error());
    return std::nullopt;
}

std::optional<cluster::local::DaemonClient> runningDaemon(CommandContext &context, cluster::HttpClient &http)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return std::nullopt;
    auto daemon = cluster::local::DaemonClient::find(http, *paths);
    if (daemon)
        return *daemon;
    report(context, daemon.error());
    return std::nullopt;
}

void addLocalCommands(CLI::App &app, CommandContext &context)
{
    CLI::App *local = app.add_subcommand("local", "A GKE on this machine, without an account or a network");
    local->require_subcommand(1);
    local->footer("Kept in $SLIPWAY_LOCAL_DIR, by default slipway/local in the user's data folder.");

    const auto options = std::make_shared<StartOptions>();
    CLI::App *starting = local->add_subcommand("start", "Start it (nothing to do if it runs)");
    starting
        ->add_option("--port", options->port, "Port on 127.0.0.1; by default the last one, else a free one")
        ->check(CLI::Range(1, 65535));
    starting
        ->add_option("--speed", options->speed,
                     "How many times faster than GKE's its operations are; 1 is realistic (default 60)")
        ->check(CLI::Range(1.0, 100000.0));
    starting->add_flag("--allow-processes", options->allowsProcesses,
                       "Let containers that nothing stands in for run their own command on this machine");
    starting->add_flag("--allow-podman", options->allowsPodman,
                       "Let containers that nothing stands in for run in podman, if that is installed");
    starting
        ->add_option("--stop-idle", options->stopIdle,
                     "Put clusters to sleep that nobody talks to and that run no pods for this long, such as "
                     "30m; the next client wakes them (default: never)")
        ->transform(
            CLI::AsNumberWithUnit(std::map<std::string, std::int64_t>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                  CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME"));
    starting->callback([&context, options] { start(context, *options); });

    local->add_subcommand("stop", "Stop it; clusters and buckets stay")->callback([&context] {
        stop(context);
    });
    const auto isSure = std::make_shared<bool>(false);
    CLI::App *resetting = local->add_subcommand("reset", "Stop it and delete all it holds");
    resetting->add_flag("--yes", *isSure, "Do not ask");
    resetting->callback([&context, isSure] { reset(context, *isSure); });
    const auto isUnset = std::make_shared<bool>(false);
    CLI::App *environment
        = local->add_subcommand("env", "Print what a shell must set: eval \"$(slipwayctl local env)\"");
    environment->add_flag("--unset", *isUnset, "Print what takes it back");
    environment->callback([&context, isUnset] { env(context, *isUnset); });
    addLocalStatusCommand(*local, context);
    addLocalLogsCommand(*local, context);
    addFaultCommands(*local, context);
}

} // namespace slipwayctl
