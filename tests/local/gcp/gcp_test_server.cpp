// Google's side of the local target by itself, on any free port, with clusters that are only remembered: for
// the tests with the real gcloud. Prints its port; ends with its standard input.

#include "cluster/httpd/http_listener.h"
#include "cluster/local/gcp/gcp_server.h"
#include "tests/local/gcp/simulated_host.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        std::fprintf(stderr, "usage: %s FOLDER TOKEN TIME_FACTOR [PORT]\n", argv[0]);
        return 2;
    }
    boost::asio::io_context io(1);
    tests::SimulatedHost host;
    cluster::local::GcpOptions options;
    options.database = std::string(argv[1]) + "/gcp.sqlite";
    options.bucketsDir = std::string(argv[1]) + "/buckets";
    options.token = argv[2];
    options.projectId = "my-project";
    options.projectNumber = "123456789012";
    options.timeFactor = std::atof(argv[3]);
    auto server = cluster::local::GcpServer::open(std::move(options), host);
    if (!server) {
        std::fprintf(stderr, "%s\n", server.error().message.c_str());
        return 1;
    }
    cluster::ListenerOptions wanted;
    if (argc == 5)
        wanted.port = static_cast<unsigned short>(std::atoi(argv[4]));
    wanted.openSink = [&](const cluster::ServerRequest &request) { return (*server)->openSink(request); };
    auto listener
        = cluster::HttpListener::open(io, wanted, [&](std::shared_ptr<cluster::ServerExchange> exchange) {
              (*server)->handle(std::move(exchange));
          });
    if (!listener) {
        std::fprintf(stderr, "%s\n", listener.error().message.c_str());
        return 1;
    }
    (*server)->start();
    std::printf("%d\n", (*listener)->port());
    std::fflush(stdout);

    std::jthread ender;
    char byte = 0;
    boost::asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
    input.async_read_some(boost::asio::buffer(&byte, 1), [&](const boost::system::error_code &, std::size_t) {
        ender = std::jthread([&] { // needs the io thread while it ends
            (*server)->stop();
            io.stop();
        });
    });
    io.run();
    return 0;
}
