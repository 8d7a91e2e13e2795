#include "cluster/httpd/exchange_state.h"

#include <algorithm>
#include <utility>

namespace cluster {

ExchangeState::ExchangeState(ServerRequest asked, std::size_t maxBacklog,
                             std::function<void(std::function<void()>)> post, std::function<void()> wake)
    : request(std::move(asked)), m_maxBacklog(maxBacklog), m_post(std::move(post)), m_wake(std::move(wake))
{
}

/// With m_mutex held. Many small pieces make one wake-up.
void ExchangeState::wake()
{
    if (std::exchange(m_wakePending, true))
        return;
    m_post([self = shared_from_this()] {
        {
            const std::lock_guard lock(self->m_mutex);
            self->m_wakePending = false;
        }
        self->m_wake();
    });
}

void ExchangeState::reply(ServerResponse response)
{
    const std::lock_guard lock(m_mutex);
    if (m_answer != Answer::None)
        return;
    m_answer = Answer::Whole;
    m_head = std::move(response);
    m_ended = true;
    wake();
}

void ExchangeState::begin(int status, HeaderFields headers)
{
    const std::lock_guard lock(m_mutex);
    if (m_answer != Answer::None)
        return;
    m_answer = Answer::Stream;
    m_head = {status, std::move(headers), {}};
    wake();
}

bool ExchangeState::write(std::string chunk)
{
    const std::lock_guard lock(m_mutex);
    if (m_closed || m_ended || m_answer != Answer::Stream)
        return false;
    m_backlog += chunk.size();
    m_output += chunk;
    wake();
    return true;
}

bool ExchangeState::writeAndWait(std::string chunk)
{
    if (!write(std::move(chunk)))
        return false;
    std::unique_lock lock(m_mutex);
    m_moved.wait(lock, [this] { return m_closed || m_backlog <= m_maxBacklog; });
    return !m_closed;
}

void ExchangeState::end(bool whole)
{
    const std::lock_guard lock(m_mutex);
    if (m_answer != Answer::Stream || m_ended)
        return;
    m_ended = true;
    m_cut = !whole;
    wake();
}

std::size_t ExchangeState::backlog() const
{
    const std::lock_guard lock(m_mutex);
    return m_backlog;
}

void ExchangeState::onDrained(std::function<void()> fn)
{
    const std::lock_guard lock(m_mutex);
    if (!m_closed && !m_finished)
        m_onDrained = std::move(fn);
}

void ExchangeState::onClosed(std::function<void()> fn)
{
    const std::lock_guard lock(m_mutex);
    if (m_closed)
        m_post(std::move(fn));
    else if (!m_finished)
        m_onClosed = std::move(fn);
}

bool ExchangeState::isClosed() const
{
    const std::lock_guard lock(m_mutex);
    return m_closed;
}

void ExchangeState::upgrade(ServerResponse head, UpgradeHandler fn)
{
    const std::lock_guard lock(m_mutex);
    if (m_answer != Answer::None || m_closed) {
        m_post([fn = std::move(fn)] {
            fn(fail(ErrorCode::Unavailable, "the client closed the connection before it was upgraded"));
        });
        return;
    }
    m_answer = Answer::Upgrade;
    m_head = std::move(head);
    m_onUpgrade = std::move(fn);
    m_ended = true;
    wake();
}

void ExchangeState::abandon()
{
    reply({500,
           {{"content-type", "text/plain; charset=utf-8"}},
           "Internal Server Error: no answer was made\n"});
    end(false);
}

ExchangeState::Answer ExchangeState::answer() const
{
    const std::lock_guard lock(m_mutex);
    return m_answer;
}

ServerResponse ExchangeState::takeHead()
{
    const std::lock_guard lock(m_mutex);
    return std::move(m_head);
}

std::string ExchangeState::takeOutput()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_output, {});
}

void ExchangeState::written(std::size_t count)
{
    std::function<void()> drained;
    {
        const std::lock_guard lock(m_mutex);
        m_backlog -= std::min(count, m_backlog);
        if (m_backlog == 0)
            drained = m_onDrained;
    }
    m_moved.notify_all();
    if (drained)
        drained();
}

bool ExchangeState::isEnded() const
{
    const std::lock_guard lock(m_mutex);
    return m_ended && m_output.empty();
}

bool ExchangeState::isCut() const
{
    const std::lock_guard lock(m_mutex);
    return m_cut;
}

ExchangeState::UpgradeHandler ExchangeState::takeUpgrade()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_onUpgrade, nullptr);
}

void ExchangeState::finish()
{
    // Destroyed after the lock is let go: they may own what owns this exchange.
    std::function<void()> drained, closed;
    const std::lock_guard lock(m_mutex);
    m_finished = true;
    drained.swap(m_onDrained);
    closed.swap(m_onClosed);
}

void ExchangeState::disconnect()
{
    std::function<void()> closed, drained;
    UpgradeHandler upgrade;
    {
        const std::lock_guard lock(m_mutex);
        if (m_closed || m_finished)
            return;
        m_closed = true;
        m_output.clear();
        closed.swap(m_onClosed);
        drained.swap(m_onDrained);
        upgrade.swap(m_onUpgrade);
    }
    m_moved.notify_all();
    if (closed)
        closed();
    if (upgrade)
        upgrade(fail(ErrorCode::Unavailable, "the client closed the connection before it was upgraded"));
}

} // namespace cluster
