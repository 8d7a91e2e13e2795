#include "app/slipwayctl/local_command.h"
#include "cluster/local/files/whole_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace slipwayctl {

namespace fs = std::filesystem;
using cluster::ErrorCode;
using cluster::local::LocalPaths;

namespace {

constexpr std::chrono::milliseconds pause{100};

struct LogsOptions
{
    std::string name;
    int lines = 100;
    bool follow = false;
};

struct NamedLog
{
    std::string name;
    std::string other; ///< the same with the cluster's internal id
    fs::path path;
};

struct KeptName
{
    std::string name;
    std::string location;
};

/// What the cluster in a folder is called; its folder's name where that can't be read.
KeptName nameOf(const fs::path &folder)
{
    const auto text = cluster::local::readWholeFile(folder / "cluster.json");
    const nlohmann::json record = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    const auto spec = record.is_object() ? record.find("spec") : record.end();
    if (!record.is_object() || spec == record.end() || !spec->is_object())
        return {folder.filename().string(), ""};
    const auto word = [&spec](const char *key) {
        const auto found = spec->find(key);
        return found != spec->end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const std::string name = word("name");
    return {name.empty() ? folder.filename().string() : name, word("location")};
}

/// By folder: the clusters' names, with their location behind an @ where two have the same.
std::map<fs::path, std::string> clusterNames(const LocalPaths &paths)
{
    std::map<fs::path, KeptName> kept;
    std::map<std::string, int> count;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(paths.clusters(), error)) {
        KeptName name = nameOf(entry.path());
        ++count[name.name];
        kept.emplace(entry.path(), std::move(name));
    }
    std::map<fs::path, std::string> names;
    for (const auto &[folder, name] : kept)
        names[folder] = name.name + (count[name.name] > 1 ? "@" + name.location : "");
    return names;
}

/// "slipwayd", and "CLUSTER/PROCESS" for each process of a control plane.
std::vector<NamedLog> allLogs(const LocalPaths &paths)
{
    std::vector<NamedLog> logs;
    std::error_code error;
    if (fs::exists(paths.daemonLog(), error))
        logs.push_back({"slipwayd", "slipwayd", paths.daemonLog()});
    for (const auto &[folder, name] : clusterNames(paths)) {
        std::error_code inner;
        for (const auto &file : fs::directory_iterator(folder / "logs", inner)) {
            const std::string process = file.path().stem().string();
            if (file.path().extension() == ".log")
                logs.push_back(
                    {name + "/" + process, folder.filename().string() + "/" + process, file.path()});
        }
    }
    std::ranges::sort(logs, {}, &NamedLog::name);
    return logs;
}

/// Where the last `lines` lines begin.
std::streamoff startOfLast(std::ifstream &file, int lines)
{
    constexpr std::streamoff block = 8192;
    file.seekg(0, std::ios::end);
    std::streamoff at = file.tellg();
    int found = 0;
    std::string piece;
    while (at > 0) {
        const std::streamoff from = std::max<std::streamoff>(0, at - block);
        piece.resize(static_cast<std::size_t>(at - from));
        file.seekg(from);
        file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        for (std::size_t i = piece.size(); i-- > 0;) {
            if (piece[i] == '\n' && ++found > lines)
                return from + static_cast<std::streamoff>(i) + 1;
        }
        at = from;
    }
    return 0;
}

/// Prints what there is from `from` on; the new end.
std::streamoff printFrom(const fs::path &path, std::streamoff from, bool &isRead)
{
    std::ifstream file(path, std::ios::binary);
    file.seekg(from);
    char piece[65536];
    while (isRead && (file.read(piece, sizeof piece), file.gcount() > 0)) {
        isRead = print({piece, static_cast<std::size_t>(file.gcount())});
        from += file.gcount();
    }
    return from;
}

void show(CommandContext &context, const NamedLog &log, const LogsOptions &options)
{
    std::ifstream file(log.path, std::ios::binary);
    if (!file)
        return report(context, {ErrorCode::PermissionDenied, "can't read " + log.path.string()});
    const cluster::CancelToken cancel = context.interrupts.begin();
    bool isRead = true;
    std::streamoff at = printFrom(log.path, startOfLast(file, options.lines), isRead);
    while (options.follow && isRead && !cancel.stop_requested()) {
        std::this_thread::sleep_for(pause);
        std::error_code error;
        const auto size = fs::file_size(log.path, error);
        if (!error && static_cast<std::streamoff>(size) < at)
            at = 0; // it was rotated
        at = printFrom(log.path, at, isRead);
    }
}

void logs(CommandContext &context, const LogsOptions &options)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    const std::vector<NamedLog> all = allLogs(*paths);
    const std::string &wanted = options.name.empty() ? "slipwayd" : options.name;
    const auto found = std::ranges::find_if(
        all, [&wanted](const NamedLog &log) { return log.name == wanted || log.other == wanted; });
    if (found != all.end())
        return show(context, *found, options);
    std::string names;
    for (const NamedLog &log : all)
        names += (names.empty() ? "" : ", ") + log.name;
    report(context,
           {ErrorCode::NotFound,
            "no log named '" + wanted + "'; there is " + (names.empty() ? "none yet" : names)});
}

void list(CommandContext &context)
{
    const auto paths = localPathsFor(context);
    if (!paths)
        return;
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    std::string text;
    for (const NamedLog &log : allLogs(*paths)) {
        json.push_back({{"name", log.name}, {"path", log.path.string()}});
        text += log.name + "\n";
    }
    if (context.wantsJson)
        printJson(json);
    else
        print(text);
}

} // namespace

void addLocalLogsCommand(CLI::App &local, CommandContext &context)
{
    const auto options = std::make_shared<LogsOptions>();
    const auto isList = std::make_shared<bool>(false);
    CLI::App *command = local.add_subcommand("logs", "Print a log of slipwayd or of a control plane");
    command->add_option("NAME", options->name,
                        "slipwayd (the default) or CLUSTER/PROCESS, such as c1/kube-apiserver");
    command->add_option("-n,--lines", options->lines, "How many of the last lines")
        ->check(CLI::NonNegativeNumber);
    command->add_flag("-f,--follow", options->follow, "Go on with what is added");
    command->add_flag("--list", *isList, "Only the names");
    command->callback([&context, options, isList] { *isList ? list(context) : logs(context, *options); });
}

} // namespace slipwayctl
