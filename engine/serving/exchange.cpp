#include "engine/serving/exchange.h"

#include <utility>

namespace engine {

Exchange::Exchange(HttpRequest request) : m_request(std::move(request)) {}

void Exchange::respond(HttpResponse response)
{
    if (m_started)
        return;
    m_started = true;
    m_finished = true;
    m_head = std::move(response);
    if (m_decorator)
        m_decorator(m_head);
    m_backlog = m_head.body.size();
    wake();
}

void Exchange::beginStream(HttpResponse head)
{
    if (m_started)
        return;
    m_started = true;
    m_stream = true;
    m_head = std::move(head);
    if (m_decorator)
        m_decorator(m_head);
    wake();
}

void Exchange::send(std::string data)
{
    if (!m_stream || m_finished || m_disconnected || data.empty())
        return;
    m_backlog += data.size();
    m_output.push_back(std::move(data));
    if (m_backlog > m_backlogLimit)
        disconnect();
    else
        wake();
}

void Exchange::endStream()
{
    if (!m_stream || m_finished)
        return;
    m_finished = true;
    wake();
}

void Exchange::onDisconnect(std::function<void()> handler)
{
    if (m_disconnected)
        handler();
    else
        m_onDisconnect = std::move(handler);
}

void Exchange::setDecorator(std::function<void(HttpResponse &)> decorator)
{
    m_decorator = std::move(decorator);
}

void Exchange::setWake(std::function<void()> wake)
{
    m_wake = std::move(wake);
}

void Exchange::disconnect()
{
    if (m_disconnected)
        return;
    m_disconnected = true;
    m_output.clear();
    m_backlog = 0;
    if (auto handler = std::exchange(m_onDisconnect, nullptr))
        handler();
    wake();
}

void Exchange::abandon()
{
    m_onDisconnect = nullptr;
    if (!m_started)
        respond({500, {{"content-type", "text/plain; charset=utf-8"}}, "Internal Server Error"});
    if (!m_finished) {
        m_cut = true;
        m_finished = true;
        wake();
    }
}

std::string Exchange::takeOutput()
{
    std::string all;
    for (std::string &part : m_output)
        all += part;
    m_output.clear();
    m_backlog -= all.size();
    m_bytesTaken += all.size();
    return all;
}

void Exchange::wake()
{
    if (m_wake)
        m_wake();
}

ExchangePtr makeAnswerHandle(const ExchangePtr &exchange)
{
    return ExchangePtr(exchange.get(), [exchange](Exchange *answered) { answered->abandon(); });
}

} // namespace engine
