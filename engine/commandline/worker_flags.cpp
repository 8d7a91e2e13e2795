#include "engine/commandline/worker_flags.h"

#include "engine/commandline/arguments.h"

namespace engine {
namespace {

using cluster::ErrorCode;
using cluster::fail;

CommandLine commandLine(WorkerOptions &options)
{
    CommandLine line;
    line.command = "slipway-engine worker";
    line.flags.push_back({"--listen", Flag::Kind::Value, "HOST:PORT",
                          "for a leader (default 127.0.0.1:50052)",
                          [&options](const std::string &value) -> cluster::Status {
                              auto endpoint = parseHostPort(value);
                              if (!endpoint)
                                  return tl::unexpected(endpoint.error());
                              options.listen = std::move(*endpoint);
                              return {};
                          }});
    line.flags.push_back({"--token-file", Flag::Kind::Value, "FILE",
                          "secret that a leader must know (or SLIPWAY_WORKER_TOKEN)",
                          [&options](const std::string &value) -> cluster::Status {
                              auto token = readSecretFile(value);
                              if (!token)
                                  return tl::unexpected(token.error());
                              options.token = std::move(*token);
                              return {};
                          }});
    line.flags.push_back({"--threads", Flag::Kind::Value, "N", "for inference (default: by the free cores)",
                          [&options](const std::string &value) -> cluster::Status {
                              const auto threads = parseInteger(value, 1, 1024);
                              if (!threads)
                                  return tl::unexpected(threads.error());
                              options.threads = static_cast<int>(*threads);
                              return {};
                          }});
    line.flags.push_back({"--leader-timeout", Flag::Kind::Value, "SECONDS",
                          "a leader that is silent for so long is given up (default 5)",
                          [&options](const std::string &value) -> cluster::Status {
                              const auto seconds = parseInteger(value, 1, 3600);
                              if (!seconds)
                                  return tl::unexpected(seconds.error());
                              options.leaderDeadline = std::chrono::seconds(*seconds);
                              return {};
                          }});
    line.flags.push_back({"--help", Flag::Kind::Switch, "", "this text",
                          [&options](const std::string &value) -> cluster::Status {
                              options.help = value == "true";
                              return {};
                          }});
    line.aliases = {{"-h", "--help"}};
    return line;
}

} // namespace

cluster::Result<WorkerOptions> parseWorker(const std::vector<std::string> &arguments,
                                           const Environment &environment)
{
    WorkerOptions options;
    options.token = environment("SLIPWAY_WORKER_TOKEN").value_or("");
    if (auto status = applyArguments(commandLine(options), arguments); !status)
        return tl::unexpected(status.error());
    if (!options.help && options.token.empty() && !isLoopback(options.listen.host))
        return fail(ErrorCode::InvalidArgument,
                    "--listen: " + options.listen.host
                        + " can be reached from other hosts: give --token-file, and use an encrypted tunnel");
    return options;
}

std::string workerHelp()
{
    WorkerOptions options;
    return "usage: slipway-engine worker [flags]\n\n"
           "Holds a part of a model's layers for a leader (`slipway-engine serve ... --rpc-worker "
           "HOST:PORT`). One\n"
           "leader at a time. What is sent is not encrypted: between hosts use a tunnel (ssh -L, "
           "WireGuard).\n\n"
        + describeFlags(commandLine(options));
}

} // namespace engine
