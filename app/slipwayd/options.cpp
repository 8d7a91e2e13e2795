#include "app/slipwayd/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <unistd.h>

namespace slipwayd {

namespace fs = std::filesystem;

namespace {

std::string variable(const char *name)
{
    const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nothing here sets any
    return value ? value : "";
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, int &exitStatus)
{
    Options options;
    std::error_code error;
    options.ownProgram = fs::read_symlink("/proc/self/exe", error);
    CLI::App app("The local target: a GKE on this machine. Started by 'slipwayctl local start'.");
    app.name("slipwayd");
    app.set_version_flag("--version", "slipwayd " SLIPWAY_VERSION);
    std::string dir;
    app.add_option("--dir", dir, "Where it keeps what it has (default: $SLIPWAY_LOCAL_DIR)");
    app.add_option("--port", options.port, "Port on 127.0.0.1");
    app.add_option("--speed", options.speed, "How many times faster than GKE its operations are")
        ->check(CLI::Range(1.0, 100000.0))
        ->capture_default_str();
    app.add_flag("--allow-processes", options.allowsProcesses,
                 "Containers that nothing stands in for run their own command on this machine");
    app.add_flag("--allow-podman", options.allowsPodman,
                 "Containers that nothing stands in for run in podman, if that is installed");
    std::int64_t stopIdle = 0;
    app.add_option("--stop-idle", stopIdle,
                   "Clusters that nobody talks to, and that run no pods, fall asleep after this: 30m")
        ->transform(
            CLI::AsNumberWithUnit(std::map<std::string, std::int64_t>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                  CLI::AsNumberWithUnit::UNIT_REQUIRED));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &wrong) {
        exitStatus = app.exit(wrong) == 0 ? 0 : 2;
        return std::nullopt;
    }
    const auto paths = cluster::local::localPaths(dir);
    if (!paths) {
        std::fprintf(stderr, "slipwayd: %s\n", paths.error().message.c_str());
        exitStatus = 1;
        return std::nullopt;
    }
    options.paths = *paths;
    options.stopIdle = std::chrono::seconds(stopIdle);
    return options;
}

fs::path imagesFile(const Options &options)
{
    const fs::path installed = options.ownProgram.parent_path() / "../share/slipway/catalog/images.yaml";
    std::error_code error;
    if (fs::exists(installed, error))
        return installed.lexically_normal();
    return fs::path(SLIPWAY_SOURCE_CATALOG) / "images.yaml";
}

fs::path podmanProgram(const Options &options)
{
    const std::string folders = options.allowsPodman ? variable("PATH") : "";
    for (std::size_t begin = 0; begin < folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const fs::path program = fs::path(folders.substr(begin, end - begin)) / "podman";
        if (program.is_absolute() && ::access(program.c_str(), X_OK) == 0)
            return program;
        begin = end + 1;
    }
    return {};
}

fs::path modelsFolder()
{
    if (const std::string named = variable("SLIPWAY_MODELS_DIR"); !named.empty())
        return named;
    if (const std::string cache = variable("SLIPWAY_CACHE"); !cache.empty())
        return fs::path(cache) / "models";
    if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
        return fs::path(cache) / "slipway" / "models";
    return fs::path(variable("HOME")) / ".cache/slipway/models";
}

} // namespace slipwayd
