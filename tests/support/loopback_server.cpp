#include "tests/support/loopback_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace tests {

namespace {

constexpr int pollStepMilliseconds = 10; ///< how soon an ending server is noticed

std::string lowerCase(std::string text)
{
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::string_view reasonPhrase(int status)
{
    return status < 300 ? "OK" : status < 400 ? "Redirect" : status < 500 ? "Refused" : "Failed";
}

/// The request in `bytes`, once all of it is there.
std::optional<ReceivedRequest> parseRequest(const std::string &bytes)
{
    if (bytes.starts_with('\x16')) { // the hello of a client that speaks TLS
        ReceivedRequest hello;
        hello.method = "TLS";
        return hello;
    }
    const std::size_t headEnd = bytes.find("\r\n\r\n");
    if (headEnd == std::string::npos)
        return std::nullopt;
    ReceivedRequest request;
    std::size_t at = bytes.find("\r\n");
    const std::string first = bytes.substr(0, at);
    const std::size_t space = first.find(' ');
    request.method = first.substr(0, space);
    request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
    while (at < headEnd) {
        const std::size_t end = bytes.find("\r\n", at + 2);
        const std::string line = bytes.substr(at + 2, end - at - 2);
        const std::size_t colon = line.find(':');
        const std::size_t value = line.find_first_not_of(' ', colon + 1);
        request.headers[lowerCase(line.substr(0, colon))]
            = value == std::string::npos ? "" : line.substr(value);
        at = end;
    }
    const auto length = request.headers.find("content-length");
    const std::size_t wanted = length == request.headers.end() ? 0 : std::stoul(length->second);
    if (bytes.size() - headEnd - 4 < wanted)
        return std::nullopt;
    request.body = bytes.substr(headEnd + 4, wanted);
    return request;
}

} // namespace

bool Exchange::respond(int status, std::string_view contentType, std::string_view body,
                       const std::vector<std::pair<std::string, std::string>> &headers)
{
    std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
    head.append(reasonPhrase(status)).append("\r\nContent-Type: ").append(contentType);
    head += "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    for (const auto &[name, value] : headers)
        head += name + ": " + value + "\r\n";
    return write(head.append("\r\n").append(body));
}

bool Exchange::beginChunked(int status, std::string_view contentType)
{
    std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
    head.append(reasonPhrase(status)).append("\r\nContent-Type: ").append(contentType);
    return write(head + "\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool Exchange::writeChunk(std::string_view bytes)
{
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    return write(std::string(size).append(bytes).append("\r\n"));
}

bool Exchange::endChunks()
{
    return write("0\r\n\r\n");
}

class LoopbackServer::Private
{
public:
    explicit Private(Handler handler);
    ~Private();

    std::uint16_t port = 0;
    std::atomic<bool> isEnding = false;
    std::atomic<int> openConnections = 0;
    mutable std::mutex mutex; ///< guards requests
    std::vector<ReceivedRequest> requests;

private:
    class Connection;

    void acceptLoop();
    void serve(int socket);

    Handler m_handler;
    int m_listener = -1;
    std::list<std::thread> m_connections; ///< the accepting thread's, until that has ended
    std::thread m_acceptor;
};

class LoopbackServer::Private::Connection : public Exchange
{
public:
    Connection(int socket, const std::atomic<bool> &isEnding) : m_socket(socket), m_isEnding(isEnding) {}
    ~Connection() override
    {
        if (!m_wantsReset)
            ::shutdown(m_socket, SHUT_WR);
        ::close(m_socket);
    }

    /// False when the client leaves before its request is whole.
    bool receive()
    {
        std::string bytes;
        char buffer[16384];
        while (!m_isEnding) {
            if (!isReadable())
                continue;
            const ssize_t count = ::recv(m_socket, buffer, sizeof buffer, 0);
            if (count <= 0)
                return false;
            bytes.append(buffer, static_cast<std::size_t>(count));
            if (auto request = parseRequest(bytes)) {
                m_request = std::move(*request);
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] const ReceivedRequest &request() const override { return m_request; }

    bool write(std::string_view bytes) override
    {
        while (!bytes.empty()) {
            pollfd item{m_socket, POLLOUT, 0};
            if (m_isEnding)
                return false;
            if (::poll(&item, 1, pollStepMilliseconds) == 0)
                continue;
            const ssize_t count = ::send(m_socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0 && (errno == EAGAIN || errno == EINTR))
                continue;
            if (count < 0)
                return false;
            bytes.remove_prefix(static_cast<std::size_t>(count));
        }
        return true;
    }

    bool waitForClientToLeave(std::chrono::milliseconds limit) override
    {
        const auto end = std::chrono::steady_clock::now() + limit;
        char buffer[1024];
        while (!m_isEnding && std::chrono::steady_clock::now() < end) {
            if (isReadable() && ::recv(m_socket, buffer, sizeof buffer, 0) <= 0)
                return true;
        }
        return false;
    }

    void reset() override
    {
        const linger abort{1, 0};
        ::setsockopt(m_socket, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
        m_wantsReset = true;
    }

private:
    [[nodiscard]] bool isReadable() const
    {
        pollfd item{m_socket, POLLIN, 0};
        return ::poll(&item, 1, pollStepMilliseconds) > 0;
    }

    int m_socket;
    const std::atomic<bool> &m_isEnding;
    bool m_wantsReset = false;
    ReceivedRequest m_request;
};

LoopbackServer::Private::Private(Handler handler)
    : m_handler(std::move(handler)), m_listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (m_listener < 0 || ::bind(m_listener, reinterpret_cast<sockaddr *>(&address), size) != 0
        || ::listen(m_listener, 64) != 0
        || ::getsockname(m_listener, reinterpret_cast<sockaddr *>(&address), &size) != 0)
        throw std::runtime_error(std::string("the loopback server can't listen: ") + std::strerror(errno));
    port = ntohs(address.sin_port);
    m_acceptor = std::thread([this] { acceptLoop(); });
}

LoopbackServer::Private::~Private()
{
    isEnding = true;
    m_acceptor.join();
    for (std::thread &connection : m_connections)
        connection.join();
    ::close(m_listener);
}

void LoopbackServer::Private::acceptLoop()
{
    while (!isEnding) {
        pollfd item{m_listener, POLLIN, 0};
        if (::poll(&item, 1, pollStepMilliseconds) <= 0)
            continue;
        const int socket = ::accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0)
            continue;
        ++openConnections;
        m_connections.emplace_back([this, socket] { serve(socket); });
    }
}

void LoopbackServer::Private::serve(int socket)
{
    {
        Connection connection(socket, isEnding);
        if (connection.receive()) {
            {
                const std::lock_guard lock(mutex);
                requests.push_back(connection.request());
            }
            m_handler(connection);
        }
    }
    --openConnections;
}

LoopbackServer::LoopbackServer(Handler handler) : d(std::make_unique<Private>(std::move(handler))) {}

LoopbackServer::~LoopbackServer() = default;

std::uint16_t LoopbackServer::port() const
{
    return d->port;
}

std::string LoopbackServer::url(std::string_view path) const
{
    return "http://127.0.0.1:" + std::to_string(d->port) + std::string(path);
}

std::vector<ReceivedRequest> LoopbackServer::requests() const
{
    const std::lock_guard lock(d->mutex);
    return d->requests;
}

int LoopbackServer::openConnections() const
{
    return d->openConnections;
}

} // namespace tests
