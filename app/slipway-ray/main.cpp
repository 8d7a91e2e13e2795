#include "cluster/local/runtimes/ray/ray_head.h"
#include "cluster/local/runtimes/ray/ray_worker.h"
#include "wait_command.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

using namespace cluster;
using namespace cluster::local;

namespace {

constexpr auto usage
    = "usage: slipway-ray head [flags of `ray start --head`]       the head of a Ray cluster\n"
      "       slipway-ray worker --address=HOST:PORT [flags]      a node that joins it\n"
      "       slipway-ray health-check --address HOST:PORT [--wait]\n"
      "       slipway-ray --version\n\n"
      "Stands in for Ray on the local target: its dashboard's REST API, Serve's applications of the "
      "tutorials,\n"
      "and their language models by slipway-engine. Exit codes: 0 stopped on request, 1 the cluster is "
      "gone,\n"
      "2 command line, 4 address or port.\n";

std::string variable(const std::string &name)
{
    const char *value = std::getenv(name.c_str());
    return value == nullptr ? std::string() : value;
}

int printError(const Error &error, int code)
{
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return code;
}

int headCommand(RayStartOptions options)
{
    boost::asio::io_context io;
    boost::asio::signal_set signals(io, SIGINT, SIGTERM);
    signals.async_wait([&io](const boost::system::error_code &, int) { io.stop(); });
    RayHead head(io, options);
    if (const Status started = head.start(); !started)
        return printError(started.error(), 4);
    const RayHeadPorts ports = head.ports();
    std::printf("slipway-ray in place of Ray %s: head at %s, GCS %d, dashboard %d, agent %d, metrics %d\n",
                options.rayVersion.c_str(), options.node.ip.c_str(), ports.join, ports.dashboard, ports.agent,
                ports.metrics);
    std::fflush(stdout);
    io.run();
    return 0;
}

int workerCommand(RayStartOptions options)
{
    boost::asio::io_context io;
    int code = 0;
    RayWorker worker(io, options, [&](const std::string &why) {
        std::fprintf(stderr, "slipway-ray: %s\n", why.c_str());
        code = 1;
        io.stop();
    });
    boost::asio::signal_set signals(io, SIGINT, SIGTERM);
    signals.async_wait([&](const boost::system::error_code &error, int) {
        if (!error)
            worker.leave([&io] { io.stop(); });
    });
    if (const Status started = worker.start(); !started)
        return printError(started.error(), 4);
    std::printf("slipway-ray in place of Ray %s: worker at %s of %s:%d\n", options.rayVersion.c_str(),
                options.node.ip.c_str(), options.headHost.c_str(), options.headPort);
    std::fflush(stdout);
    io.run();
    return code;
}

int run(const std::vector<std::string> &words)
{
    const std::string command = words.empty() ? "" : words[0];
    const std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
    if (command == "head" || command == "worker") {
        const auto options = parseRayStart(command == "head", rest, variable);
        if (!options)
            return printError(options.error(), 2);
        return command == "head" ? headCommand(*options) : workerCommand(*options);
    }
    if (command == "health-check")
        return healthCheckCommand(rest);
    if (command == "--version") {
        std::printf("slipway-ray %s\n", SLIPWAY_VERSION);
        return 0;
    }
    const bool isHelp = command == "--help" || command == "-h" || command == "help";
    std::fputs(usage, isHelp ? stdout : stderr);
    return isHelp ? 0 : 2;
}

} // namespace

int main(int argc, char **argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception &error) {
        std::fprintf(stderr, "slipway-ray: %s\n", error.what());
        return 1;
    }
}
