#include "adapter.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    // A closed one would be given to the next socket, and the log would go to a client.
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0)
            ::open("/dev/null", O_RDWR);
    }
    std::signal(SIGPIPE, SIG_IGN);
    try {
        int exitStatus = 0;
        const auto options = slipway_adapter::parseOptions(argc, argv, exitStatus);
        if (!options)
            return exitStatus;
        if (const auto done = slipway_adapter::runAdapter(*options); !done) {
            std::fprintf(stderr, "%s\n", done.error().message.c_str());
            return 255; // as klog's Fatal
        }
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "slipway-metrics-adapter: %s\n", error.what());
        return 1;
    }
}
