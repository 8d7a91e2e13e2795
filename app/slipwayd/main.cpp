#include "app/slipwayd/daemon.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <malloc.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr std::size_t logBytes = std::size_t{8} << 20;

/// Thousands of pods' log files and connections: as many descriptors as the machine lets us have.
void raiseDescriptorLimit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/// One arena for each thread keeps what bursts left in it: the threads of pools and watches have many.
void boundFreeMemory()
{
#ifdef __GLIBC__
    ::mallopt(M_ARENA_MAX, 2);
    ::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    // A watched object is hundreds of small pieces that go at once: each time its larger ones went, all small
    // ones would be put together, which took a tenth of the time.
    ::mallopt(M_MXFAST, 0);
#endif
}

void startLog(const slipwayd::Options &options)
{
    const auto log = spdlog::rotating_logger_mt("slipwayd", options.paths.daemonLog().string(), logBytes, 2);
    log->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    log->flush_on(spdlog::level::info);
    spdlog::set_default_logger(log);
}

int run(int argc, char **argv)
{
    int exitStatus = 0;
    const auto options = slipwayd::parseOptions(argc, argv, exitStatus);
    if (!options)
        return exitStatus;
    ::umask(0077);
    boundFreeMemory();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    raiseDescriptorLimit();
    if (const auto made = cluster::local::makeFolders(options->paths); !made) {
        std::fprintf(stderr, "slipwayd: %s\n", made.error().message.c_str());
        return 1;
    }
    startLog(*options);
    if (const auto done = slipwayd::runDaemon(*options); !done) {
        spdlog::error("{}", done.error().message);
        std::fprintf(stderr, "slipwayd: %s\n", done.error().message.c_str());
        return 1;
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    // A closed one would be given to the next socket, and what is printed would go to a client.
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0)
            ::open("/dev/null", O_RDWR);
    }
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "slipwayd: %s\n", error.what());
        return 1;
    }
}
