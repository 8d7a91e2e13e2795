#pragma once

#include "cluster/base/result.h"
#include "cluster/local/daemon/local_paths.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace slipwayd {

struct Options
{
    cluster::local::LocalPaths paths;
    std::uint16_t port = 0; ///< 0: the last one if it is free, else any
    double speed = 60; ///< Google's durations are divided by this
    bool allowsProcesses = false;
    bool allowsPodman = false;
    std::chrono::seconds stopIdle{0}; ///< clusters without use fall asleep after this; 0: never
    std::filesystem::path ownProgram; ///< of slipwayd itself
};

/// Reads the command line. Nothing: it was --help or --version, or wrong and said so; `exitStatus` says
/// which.
[[nodiscard]] std::optional<Options> parseOptions(int argc, char **argv, int &exitStatus);

/// resources/catalog/images.yaml: of the installed package, else of the source tree.
[[nodiscard]] std::filesystem::path imagesFile(const Options &options);

/// The program in $PATH, where it is allowed; empty: not allowed or not installed.
[[nodiscard]] std::filesystem::path podmanProgram(const Options &options);

/// Folder of the GGUF files: $SLIPWAY_MODELS_DIR, else `models` in the user's cache.
[[nodiscard]] std::filesystem::path modelsFolder();

} // namespace slipwayd
