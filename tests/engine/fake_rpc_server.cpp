// Stands in for ggml's RPC server: listens on the loopback port of its first argument, serves one connection
// at a time, sends back what it gets.
#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    if (argc < 2 || std::string_view(argv[1]) == "fail")
        return 4;
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
    if (::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0
        || ::listen(listener, 1) != 0)
        return 5;
    for (;;) {
        const int connection = ::accept(listener, nullptr, nullptr);
        std::array<char, 4096> buffer{};
        for (ssize_t size = 0; (size = ::read(connection, buffer.data(), buffer.size())) > 0;) {
            if (::write(connection, buffer.data(), static_cast<std::size_t>(size)) != size)
                break;
        }
        ::close(connection);
    }
}
