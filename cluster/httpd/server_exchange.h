#pragma once

#include "cluster/base/result.h"
#include "cluster/httpd/byte_stream.h"
#include "cluster/httpd/server_message.h"

#include <functional>
#include <memory>
#include <string>

namespace cluster {

class ExchangeState; // the session's side

/// One request and its answer. Handlers get it on the io thread and answer then or later; all members may be
/// called from any thread, except where said. The last owner going without an answer answers 500 (and cuts a
/// stream that was begun but not ended, so that the client sees that it is not whole).
class ServerExchange
{
public:
    explicit ServerExchange(std::shared_ptr<ExchangeState> state);
    ~ServerExchange();
    ServerExchange(const ServerExchange &) = delete;
    ServerExchange &operator=(const ServerExchange &) = delete;

    [[nodiscard]] const ServerRequest &request() const;

    /// The whole answer. A second answer is ignored.
    void reply(ServerResponse response);

    /// Starts a streamed answer: chunked where the client speaks 1.1, or of the length that a Content-Length
    /// among the headers promises.
    void begin(int status, HeaderFields headers);
    /// Queues a piece; never blocks. False when the client has gone: stop then. Look at backlog() or wait for
    /// onDrained before making more, or use writeAndWait.
    bool write(std::string chunk);
    /// As write, and waits while the client is slow and more than the listener's maxBacklog is queued.
    /// Not on the io thread, which it would block.
    bool writeAndWait(std::string chunk);
    void end(); ///< the answer is whole
    void cut(); ///< the answer ends unfinished: the connection is closed so that the client notices
    [[nodiscard]] std::size_t backlog() const; ///< bytes queued and not yet taken by the socket

    /// `fn` is called on the io thread each time that the backlog has fallen to nothing.
    void onDrained(std::function<void()> fn);
    /// `fn` is called once on the io thread when the client goes before the answer was written whole; at once
    /// (but not from inside this call) if it has gone already. Never after the answer is written.
    void onClosed(std::function<void()> fn);
    [[nodiscard]] bool isClosed() const;

    /// Leaves HTTP: writes `head` (101 with Upgrade, or 200 to a CONNECT) and calls `fn` on the io thread
    /// with the bare connection, or with an error if the client has gone meanwhile. The exchange is over
    /// then.
    void upgrade(ServerResponse head, std::function<void(Result<std::unique_ptr<ByteStream>>)> fn);

private:
    std::shared_ptr<ExchangeState> m_state;
};

} // namespace cluster
