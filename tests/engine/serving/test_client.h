#pragma once

#include <map>
#include <string>

/// A blocking HTTP client over one loopback connection that shows the bytes as they are.
class TestClient
{
public:
    explicit TestClient(std::uint16_t port, int receiveBuffer = 0);
    ~TestClient();
    TestClient(const TestClient &) = delete;
    TestClient &operator=(const TestClient &) = delete;

    struct Answer
    {
        int status = 0; ///< 0: the connection ended before an answer.
        std::map<std::string, std::string> headers;
        std::string body; ///< Without transfer chunks.
        bool whole = false;
    };

    void send(const std::string &bytes);
    void post(const std::string &path, const std::string &json, const std::string &headers = {});
    [[nodiscard]] Answer read(bool head = false);
    [[nodiscard]] std::string readUntil(const std::string &text); ///< Raw; empty if it never came.
    [[nodiscard]] bool isClosed(); ///< Waits for the other side's end.
    void close();

private:
    bool fill();

    int m_socket = -1;
    std::string m_input;
};
