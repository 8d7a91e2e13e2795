#pragma once

#include "app/slipwayctl/interrupts.h"
#include "cluster/base/result.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace slipwayctl {

// Exit statuses, as --help says them.
inline constexpr int exitSuccess = 0;
inline constexpr int exitFailure = 1;
inline constexpr int exitUsage = 2;
inline constexpr int exitInterrupted = 130;

/// What every command is given.
struct CommandContext
{
    Interrupts &interrupts;
    std::string programPath; ///< of slipwayctl itself
    bool wantsJson = false;
    int exitStatus = exitSuccess;
};

/// First of all: standard input, output and error exist, though closed ones stay useless.
void keepStandardDescriptors();

/// The exit status in the end: a failure, with a line that says so, if not all of the output could be
/// written.
[[nodiscard]] int finalStatus(int status);

/// Writes to standard output at once. False when nobody reads it any more (| head), which is no error, or
/// when it can't be written, which finalStatus() makes one.
bool print(std::string_view text);
bool printJson(const nlohmann::ordered_json &json);

/// A remark for the person at the terminal, on standard error; not with -o json.
void remark(const CommandContext &context, std::string_view text);

/// One line on standard error, or {"error": ...} on standard output with -o json; sets the exit status.
void report(CommandContext &context, const cluster::Error &error);
nlohmann::ordered_json toJson(const cluster::Error &error);

// One file each.
void addModelsCommands(CLI::App &app, CommandContext &context);
void addChatCommand(CLI::App &app, CommandContext &context);
void addCompleteCommand(CLI::App &app, CommandContext &context);
void addMetricsCommand(CLI::App &app, CommandContext &context);
void addServeCommand(CLI::App &app, CommandContext &context);
void addLocalCommands(CLI::App &app, CommandContext &context);

} // namespace slipwayctl
