#pragma once

#include "cluster/httpd/server_exchange.h"

#include <condition_variable>
#include <mutex>

namespace cluster {

/// What the handler's side (any thread) and the session's side (io thread) of an exchange share.
class ExchangeState : public std::enable_shared_from_this<ExchangeState>
{
public:
    using UpgradeHandler = std::function<void(Result<std::unique_ptr<ByteStream>>)>;
    enum class Answer { None, Whole, Stream, Upgrade };

    /// `post` runs a function later on the io thread, `wake` (on the io thread) has the session look again.
    ExchangeState(ServerRequest request, std::size_t maxBacklog,
                  std::function<void(std::function<void()>)> post, std::function<void()> wake);

    // The handler's side; see ServerExchange.
    const ServerRequest request;
    void reply(ServerResponse response);
    void begin(int status, HeaderFields headers);
    bool write(std::string chunk);
    bool writeAndWait(std::string chunk);
    void end(bool whole);
    std::size_t backlog() const;
    void onDrained(std::function<void()> fn);
    void onClosed(std::function<void()> fn);
    bool isClosed() const;
    void upgrade(ServerResponse head, UpgradeHandler fn);
    void abandon(); ///< the last handle has gone

    // The session's side.
    Answer answer() const;
    ServerResponse takeHead(); ///< once answer() is not None
    std::string takeOutput(); ///< of a stream; empty when there is none now
    void written(std::size_t count); ///< of what was taken
    bool isEnded() const; ///< no more output comes after what is queued
    bool isCut() const;
    UpgradeHandler takeUpgrade();
    void finish(); ///< the answer is written: nothing is heard of the client any more
    void disconnect(); ///< the client has gone, or was too slow

private:
    void wake();

    std::size_t m_maxBacklog;
    std::function<void(std::function<void()>)> m_post;
    std::function<void()> m_wake;

    mutable std::mutex m_mutex;
    std::condition_variable m_moved;
    Answer m_answer = Answer::None;
    ServerResponse m_head;
    std::string m_output;
    std::size_t m_backlog = 0; ///< m_output and what the session has taken of it and not yet written
    bool m_ended = false;
    bool m_cut = false;
    bool m_closed = false;
    bool m_finished = false;
    bool m_wakePending = false;
    std::function<void()> m_onDrained;
    std::function<void()> m_onClosed;
    UpgradeHandler m_onUpgrade;
};

} // namespace cluster
