#include "worker_command.h"

#include "engine/commandline/worker_flags.h"
#include "engine/group/worker_server.h"
#include "environment.h"
#include "exit_codes.h"
#include "program_log.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <spdlog/spdlog.h>

using namespace engine;

namespace {

WorkerServerOptions serverOptions(const WorkerOptions &options)
{
    WorkerServerOptions server;
    server.host = options.listen.host;
    server.port = options.listen.port;
    server.token = options.token;
    server.build = buildName();
    server.leaderDeadline = options.leaderDeadline;
    server.rpcServer = [threads = options.threads](std::uint16_t port) {
        auto program = ownProgram({"rpc-server", std::to_string(port), std::to_string(threads)});
        program.environment = {"OMP_WAIT_POLICY=passive", "GGML_NO_BACKTRACE=1"};
        return program;
    };
    server.log = [](std::string_view line) { spdlog::info("{}", line); };
    return server;
}

} // namespace

int workerCommand(const std::vector<std::string> &arguments)
{
    const std::string command = "slipway-engine worker";
    const auto options = parseWorker(arguments, ownEnvironment);
    if (!options) {
        printError(command, options.error().message);
        return exitUsage;
    }
    if (options->help) {
        std::fputs(workerHelp().c_str(), stdout);
        return exitOk;
    }
    startLog(options->logLevel);
    std::signal(SIGPIPE, SIG_IGN);
    boost::asio::io_context context;
    boost::asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&context](const boost::system::error_code &error, int /*number*/) {
        if (!error)
            context.stop();
    });
    WorkerServer server(context, serverOptions(*options));
    if (const auto listening = server.listen(); !listening) {
        printError(command, listening.error().message);
        return exitAddress;
    }
    spdlog::info("worker of build {} listens on {}:{}{}", buildName(), options->listen.host, server.port(),
                 options->token.empty() ? " without a token (loopback only)" : "");
    context.run();
    spdlog::info("stopped");
    return exitOk;
}
