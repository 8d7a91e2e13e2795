#include "engine/runner/runner.h"
#include "engine/runtime/rpc_worker.h"
#include "exit_codes.h"
#include "program_log.h"
#include "serve_command.h"
#include "worker_command.h"

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr auto usage
    = "usage: slipway-engine serve MODEL [flags]   serve a GGUF model on vLLM's HTTP API\n"
      "       slipway-engine worker [flags]        hold a part of a model's layers for a leader\n"
      "       slipway-engine --version\n"
      "`slipway-engine serve --help` and `slipway-engine worker --help` list the flags.\n\n"
      "Exit codes: 0 stopped on request, 2 command line, 3 model file, 4 address or port, 5 memory,\n"
      "            6 group of workers, 7 the runner process failed, 1 anything else.\n";

/// The processes that serve and worker start of this same program.
int runHidden(const std::string &command, const std::vector<std::string> &arguments)
{
    constexpr int channel = 3; // where the supervisor puts the socket
    if (command == "runner")
        return engine::runRunner(channel);
    if (arguments.size() != 2)
        return exitUsage;
    return engine::runRpcServer(static_cast<std::uint16_t>(std::stoul(arguments[0])),
                                std::stoi(arguments[1]));
}

int run(const std::vector<std::string> &words)
{
    const std::string command = words.empty() ? "" : words[0];
    const std::vector<std::string> arguments(words.begin() + (words.empty() ? 0 : 1), words.end());
    if (command == "serve")
        return serveCommand(arguments);
    if (command == "worker")
        return workerCommand(arguments);
    if (command == "runner" || command == "rpc-server")
        return runHidden(command, arguments);
    if (command == "--version" || command == "version") {
        std::printf("slipway-engine %s\n", SLIPWAY_VERSION);
        return exitOk;
    }
    if (command == "--help" || command == "-h" || command == "help") {
        std::fputs(usage, stdout);
        return exitOk;
    }
    printError("slipway-engine", command.empty() ? "no command" : "unknown command '" + command + "'");
    std::fputs(usage, stderr);
    return exitUsage;
}

} // namespace

int main(int argc, char **argv)
{
    // A closed one would be given to the next socket, and the log would go to a client.
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0)
            ::open("/dev/null", O_RDWR);
    }
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::bad_alloc &) {
        printError("slipway-engine", "not enough memory");
        return exitNoMemory;
    } catch (const std::exception &error) {
        printError("slipway-engine", error.what());
        return exitInternal;
    }
}
