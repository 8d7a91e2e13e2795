#pragma once

#include "engine/serving/http_message.h"
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace engine {

/// One request and the way to answer it: whole (respond) or bit by bit (beginStream, send, endStream).
/// Knows no sockets: a session takes the output from it and tells it when the client has gone.
/// Threads: one thread only. Errors: calls after the end or after a disconnect are ignored.
class Exchange
{
public:
    explicit Exchange(HttpRequest request);

    [[nodiscard]] const HttpRequest &request() const { return m_request; }

    // The side of the routes.
    void respond(HttpResponse response);
    void beginStream(HttpResponse head); ///< Its body is ignored.
    void send(std::string data); ///< Above the backlog limit the client is given up.
    void endStream();
    [[nodiscard]] bool isDisconnected() const { return m_disconnected; }
    [[nodiscard]] bool isAnswered() const { return m_started; }
    [[nodiscard]] std::size_t backlogBytes() const { return m_backlog; } ///< Not yet handed to the socket.
    void onDisconnect(std::function<void()> handler); ///< At most once; at once if it has already happened.
    void setDecorator(std::function<void(HttpResponse &)> decorator); ///< Last word on status and headers.

    // The side of the session.
    void setWake(std::function<void()> wake); ///< Called when there is output, an end, or an overflow.
    void setBacklogLimit(std::size_t bytes) { m_backlogLimit = bytes; }
    void disconnect();
    void abandon(); ///< Nobody will answer any more: 500 if nothing was sent, else the stream is cut.
    [[nodiscard]] bool isFinished() const { return m_finished; }
    [[nodiscard]] bool isStream() const { return m_stream; }
    [[nodiscard]] bool isCut() const { return m_cut; } ///< The stream has no proper end: close without one.
    [[nodiscard]] const HttpResponse &head() const { return m_head; }
    [[nodiscard]] bool hasOutput() const { return !m_output.empty(); }
    [[nodiscard]] std::string takeOutput();
    [[nodiscard]] std::size_t bytesSent() const { return m_bytesTaken; } ///< Body bytes handed to the socket.

private:
    void wake();

    HttpRequest m_request;
    HttpResponse m_head;
    std::deque<std::string> m_output;
    std::size_t m_backlog = 0;
    std::size_t m_backlogLimit = static_cast<std::size_t>(-1);
    std::size_t m_bytesTaken = 0;
    std::function<void()> m_wake;
    std::function<void()> m_onDisconnect;
    std::function<void(HttpResponse &)> m_decorator;
    bool m_started = false;
    bool m_stream = false;
    bool m_finished = false;
    bool m_cut = false;
    bool m_disconnected = false;
};

using ExchangePtr = std::shared_ptr<Exchange>;

/// A handle for the routes: when the last copy goes without an answer, the exchange is abandoned.
[[nodiscard]] ExchangePtr makeAnswerHandle(const ExchangePtr &exchange);

} // namespace engine
