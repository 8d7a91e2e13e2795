#include "cluster/httpd/server_exchange.h"

#include "cluster/httpd/exchange_state.h"

namespace cluster {

ServerExchange::ServerExchange(std::shared_ptr<ExchangeState> state) : m_state(std::move(state)) {}

ServerExchange::~ServerExchange()
{
    m_state->abandon();
}

const ServerRequest &ServerExchange::request() const
{
    return m_state->request;
}

void ServerExchange::reply(ServerResponse response)
{
    m_state->reply(std::move(response));
}

void ServerExchange::begin(int status, HeaderFields headers)
{
    m_state->begin(status, std::move(headers));
}

bool ServerExchange::write(std::string chunk)
{
    return m_state->write(std::move(chunk));
}

bool ServerExchange::writeAndWait(std::string chunk)
{
    return m_state->writeAndWait(std::move(chunk));
}

void ServerExchange::end()
{
    m_state->end(true);
}

void ServerExchange::cut()
{
    m_state->end(false);
}

std::size_t ServerExchange::backlog() const
{
    return m_state->backlog();
}

void ServerExchange::onDrained(std::function<void()> fn)
{
    m_state->onDrained(std::move(fn));
}

void ServerExchange::onClosed(std::function<void()> fn)
{
    m_state->onClosed(std::move(fn));
}

bool ServerExchange::isClosed() const
{
    return m_state->isClosed();
}

void ServerExchange::upgrade(ServerResponse head, std::function<void(Result<std::unique_ptr<ByteStream>>)> fn)
{
    m_state->upgrade(std::move(head), std::move(fn));
}

} // namespace cluster
