#include "wait_command.h"

#include "cluster/local/runtimes/ray/start_options.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

bool isListening(const std::string &host, unsigned short port)
{
    boost::asio::io_context io;
    boost::asio::ip::tcp::resolver resolver(io);
    boost::system::error_code error;
    const auto found = resolver.resolve(host, std::to_string(port), error);
    if (error)
        return false;
    boost::asio::ip::tcp::socket socket(io);
    boost::asio::connect(socket, found, error);
    return !error;
}

} // namespace

int healthCheckCommand(const std::vector<std::string> &words)
{
    std::string address;
    bool waits = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--wait")
            waits = true;
        else if (words[i].starts_with("--address="))
            address = words[i].substr(std::string("--address=").size());
        else if (words[i] == "--address" && i + 1 < words.size())
            address = words[++i];
    }
    const auto target = cluster::local::parseRayAddress(address);
    if (!target) {
        std::fprintf(stderr, "%s\n", target.error().message.c_str());
        return 2;
    }
    const auto begun = std::chrono::steady_clock::now();
    for (int asked = 0;; ++asked) {
        if (isListening(target->first, target->second)) {
            if (waits)
                std::printf("GCS is ready.\n");
            return 0;
        }
        if (!waits)
            return 1;
        const auto waited
            = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun);
        if (asked % 5 == 0) {
            std::printf("%ld seconds elapsed: Waiting for GCS to be ready.\n",
                        static_cast<long>(waited.count()));
            std::fflush(stdout);
        }
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
}
