#pragma once

#include "engine/protocol/backend.h"
#include "engine/protocol/codec.h"
#include <unordered_map>

namespace engine {

/// The requests and calls that wait for a runner's answer, and who is to get it.
class InFlight
{
public:
    using CallHandler = std::function<void(cluster::Result<decltype(CallReply::value)>)>;

    void addRequest(RequestId id, Backend::GenerationHandler handler);
    void dropRequest(RequestId id) { m_requests.erase(id); }
    [[nodiscard]] bool hasRequest(RequestId id) const { return m_requests.contains(id); }
    CallId addCall(CallHandler handler); ///< A new number.
    void dropCall(CallId call) { m_calls.erase(call); }

    void
    deliver(const GenerationEvent &event); ///< The last event ends the request; unknown ids were cancelled.
    void deliver(const RequestFailure &failure);
    void deliver(CallReply &&reply);

    /// Ends everything with code "unavailable".
    void failAll(const std::string &message);

    [[nodiscard]] std::size_t count() const { return m_requests.size() + m_calls.size(); }

private:
    std::unordered_map<RequestId, Backend::GenerationHandler> m_requests;
    std::unordered_map<CallId, CallHandler> m_calls;
    CallId m_lastCall = 0;
};

} // namespace engine
