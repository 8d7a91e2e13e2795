#pragma once

#include "app/slipwayctl/command_line.h"
#include "cluster/local/daemon/daemon_client.h"

#include <cstdint>
#include <optional>
#include <string>

namespace slipwayctl {

/// The folders of the local target; reports what is wrong with them.
std::optional<cluster::local::LocalPaths> localPathsFor(CommandContext &context);

/// The daemon that runs; reports that none does.
std::optional<cluster::local::DaemonClient> runningDaemon(CommandContext &context, cluster::HttpClient &http);

/// "30 min", "90 s", "2 h".
std::string shortTime(std::int64_t seconds);

// Parts of `slipwayctl local`, one file each.
void addLocalStatusCommand(CLI::App &local, CommandContext &context);
void addLocalLogsCommand(CLI::App &local, CommandContext &context);
void addFaultCommands(CLI::App &local, CommandContext &context);

} // namespace slipwayctl
