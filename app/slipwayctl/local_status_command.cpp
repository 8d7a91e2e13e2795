#include "app/slipwayctl/local_command.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace slipwayctl {

using nlohmann::json;

namespace {

std::string megabytes(const json &object)
{
    return std::to_string(object.value("memoryBytes", std::int64_t{0}) / (1024 * 1024)) + " MB";
}

/// Columns as wide as their widest cell, two blanks between them.
std::string table(const std::vector<std::vector<std::string>> &rows)
{
    std::vector<std::size_t> widths;
    for (const auto &row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto &row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size())
                line.append(widths[i] - row[i].size() + 2, ' ');
        }
        text += line + "\n";
    }
    return text;
}

/// How it was started, where that differs from what is usual.
std::string settingsText(const json &settings)
{
    std::string text;
    if (const std::int64_t idle = settings.value("stopIdleSeconds", std::int64_t{0}); idle > 0)
        text += "Clusters without use fall asleep after " + shortTime(idle) + ".\n";
    if (settings.value("allowProcesses", false))
        text += "Containers may run their own commands on this machine.\n";
    return text;
}

std::string clusterText(const json &cluster)
{
    const std::string location = cluster.value("location", "");
    std::string text = "\n" + cluster.value("name", "")
        + (location.empty() ? "" : " (" + cluster.value("project", "") + ", " + location + ")") + ": "
        + cluster.value("state", "");
    if (location.empty()) // its record can't be read
        return text + "\n  " + cluster.value("message", "") + "\n";
    if (const std::string endpoint = cluster.value("endpoint", ""); !endpoint.empty())
        text += " at https://" + endpoint;
    text += ", " + std::to_string(cluster.value("nodes", 0)) + " nodes, " + megabytes(cluster) + "\n";
    if (const std::string message = cluster.value("message", ""); !message.empty())
        text += "  " + message + "\n";
    if (cluster.value("state", "") == "asleep")
        text += "  Its control plane is stopped, its state kept. The next client wakes it, which takes some "
                "seconds;\n  if kubectl says 'TLS handshake timeout' (it waits for 10 s), say it again.\n";
    std::vector<std::vector<std::string>> rows = {{"  PROCESS", "STATE", "PID", "RESTARTS", "MEMORY"}};
    for (const json &process : cluster.value("processes", json::array()))
        rows.push_back({"  " + process.value("name", ""), process.value("state", ""),
                        std::to_string(process.value("pid", 0)), std::to_string(process.value("restarts", 0)),
                        megabytes(process)});
    return rows.size() > 1 ? text + table(rows) : text;
}

void status(CommandContext &context)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    if (!cluster::local::DaemonLock::isHeld(*paths)) {
        if (context.wantsJson)
            printJson({{"running", false}, {"directory", paths->root.string()}});
        else
            print("The local target does not run (" + paths->root.string()
                  + "): 'slipwayctl local start' starts it.\n");
        context.exitStatus = exitFailure; // for scripts, as with systemctl
        return;
    }
    cluster::HttpClient http;
    const auto daemon = runningDaemon(context, http);
    if (!daemon)
        return;
    const auto answer = daemon->ask("GET", "status", {}, context.interrupts.begin());
    if (!answer)
        return report(context, answer.error());
    if (context.wantsJson) {
        nlohmann::ordered_json all = *answer;
        all["running"] = true;
        all["directory"] = paths->root.string();
        printJson(all);
        return;
    }
    std::string text = "slipwayd " + answer->value("version", "") + " at " + daemon->state().url() + ", pid "
        + std::to_string(daemon->state().pid) + ", " + megabytes(*answer) + "\n";
    if (const std::string missing = answer->value("missing", ""); !missing.empty())
        text += missing + "\n";
    text += settingsText(answer->value("settings", json::object()));
    const json clusters = answer->value("clusters", json::array());
    for (const json &cluster : clusters)
        text += clusterText(cluster);
    print(clusters.empty() ? text + "No clusters.\n" : text);
}

} // namespace

std::string shortTime(std::int64_t seconds)
{
    constexpr std::int64_t minute = 60;
    constexpr std::int64_t hour = 60 * minute;
    if (seconds % hour == 0)
        return std::to_string(seconds / hour) + " h";
    return seconds % minute == 0 ? std::to_string(seconds / minute) + " min" : std::to_string(seconds) + " s";
}

void addLocalStatusCommand(CLI::App &local, CommandContext &context)
{
    local.add_subcommand("status", "Show what runs, and its memory; exit status 1 if nothing does")
        ->callback([&context] { status(context); });
}

} // namespace slipwayctl
