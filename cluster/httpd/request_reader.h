#pragma once

#include "cluster/httpd/http_listener.h"

#include <memory>
#include <string>
#include <utility>

namespace cluster {

/// Makes one request out of bytes that arrive bit by bit.
class RequestReader
{
public:
    explicit RequestReader(const ListenerOptions &options);
    ~RequestReader();
    RequestReader(const RequestReader &) = delete;
    RequestReader &operator=(const RequestReader &) = delete;

    enum class State { WantsMore, Done, Refused };

    /// Takes what it can use off the front of `input`. The rest waits for more, or is the next request's.
    State take(std::string &input);

    [[nodiscard]] bool hasHeader() const;
    [[nodiscard]] bool hasSink() const { return m_request.sink != nullptr; }
    [[nodiscard]] bool wantsContinue() const; ///< "Expect: 100-continue", and the body is not here yet
    [[nodiscard]] bool keepAlive() const;
    [[nodiscard]] bool isHttp10() const;
    [[nodiscard]] std::pair<int, std::string> refusal() const; ///< status and words

    ServerRequest release(); ///< after Done

private:
    State refuse(int status, std::string words);
    State takeHeader();
    State takeBody();

    class Parser;
    std::unique_ptr<Parser> m_parser;
    const ListenerOptions &m_options;
    std::pair<int, std::string> m_refusal;
    ServerRequest m_request;
    bool m_headerTaken = false;
    bool m_bodyUnwanted = false; ///< by the sink: what follows on this connection can't be told apart
};

} // namespace cluster
