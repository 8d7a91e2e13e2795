#include "engine/supervisor/in_flight.h"

namespace engine {

void InFlight::addRequest(RequestId id, Backend::GenerationHandler handler)
{
    m_requests[id] = std::move(handler);
}

CallId InFlight::addCall(CallHandler handler)
{
    m_calls[++m_lastCall] = std::move(handler);
    return m_lastCall;
}

void InFlight::deliver(const GenerationEvent &event)
{
    const auto found = m_requests.find(event.id);
    if (found == m_requests.end())
        return;
    if (event.finish) {
        const auto handler = std::move(found->second);
        m_requests.erase(found);
        handler(event);
        return;
    }
    const auto handler = found->second; // a copy: the handler may cancel its own request
    handler(event);
}

void InFlight::deliver(const RequestFailure &failure)
{
    auto node = m_requests.extract(failure.id);
    if (node)
        node.mapped()(failure);
}

void InFlight::deliver(CallReply &&reply)
{
    auto node = m_calls.extract(reply.call);
    if (!node)
        return;
    if (auto *error = std::get_if<cluster::Error>(&reply.value))
        node.mapped()(tl::unexpected(std::move(*error)));
    else
        node.mapped()(std::move(reply.value));
}

void InFlight::failAll(const std::string &message)
{
    const auto requests = std::exchange(m_requests, {});
    const auto calls = std::exchange(m_calls, {});
    for (const auto &[id, handler] : requests)
        handler(RequestFailure{id, "unavailable", message});
    for (const auto &[call, handler] : calls)
        handler(cluster::fail(cluster::ErrorCode::Unavailable, message));
}

} // namespace engine
