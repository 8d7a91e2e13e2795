#include "test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

TestClient::TestClient(std::uint16_t port, int receiveBuffer)
{
    m_socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receiveBuffer > 0)
        ::setsockopt(m_socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, sizeof receiveBuffer);
    const timeval patience{20, 0};
    ::setsockopt(m_socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(m_socket, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        close();
}

TestClient::~TestClient()
{
    close();
}

void TestClient::close()
{
    if (m_socket >= 0)
        ::close(m_socket);
    m_socket = -1;
}

void TestClient::send(const std::string &bytes)
{
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto count = ::send(m_socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count <= 0)
            return;
        done += static_cast<std::size_t>(count);
    }
}

void TestClient::post(const std::string &path, const std::string &json, const std::string &headers)
{
    send("POST " + path + " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n" + headers
         + "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json);
}

bool TestClient::fill()
{
    char chunk[4096];
    const auto count = ::recv(m_socket, chunk, sizeof chunk, 0);
    if (count <= 0)
        return false;
    m_input.append(chunk, static_cast<std::size_t>(count));
    return true;
}

std::string TestClient::readUntil(const std::string &text)
{
    for (;;) {
        if (const auto found = m_input.find(text); found != std::string::npos) {
            const std::string taken = m_input.substr(0, found + text.size());
            m_input.erase(0, taken.size());
            return taken;
        }
        if (!fill())
            return {};
    }
}

TestClient::Answer TestClient::read(bool head)
{
    Answer answer;
    const std::string text = readUntil("\r\n\r\n");
    if (text.size() < 12)
        return answer;
    answer.status = std::stoi(text.substr(9, 3));
    for (std::size_t at = text.find("\r\n") + 2; at + 2 < text.size();) {
        const auto end = text.find("\r\n", at);
        const auto colon = text.find(':', at);
        answer.headers[text.substr(at, colon - at)] = text.substr(colon + 2, end - colon - 2);
        at = end + 2;
    }
    if (head) {
        answer.whole = true;
    } else if (answer.headers["transfer-encoding"] == "chunked") {
        for (;;) {
            const std::string size = readUntil("\r\n");
            if (size.empty())
                return answer;
            const std::size_t length = std::stoul(size, nullptr, 16);
            while (m_input.size() < length + 2) {
                if (!fill())
                    return answer;
            }
            answer.body += m_input.substr(0, length);
            m_input.erase(0, length + 2);
            if (length == 0)
                break;
        }
        answer.whole = true;
    } else {
        const std::size_t length
            = answer.headers.count("content-length") ? std::stoul(answer.headers["content-length"]) : 0;
        while (m_input.size() < length) {
            if (!fill())
                return answer;
        }
        answer.body = m_input.substr(0, length);
        m_input.erase(0, length);
        answer.whole = true;
    }
    return answer;
}

bool TestClient::isClosed()
{
    char byte = 0;
    return m_socket < 0 || ::recv(m_socket, &byte, 1, 0) == 0;
}
