#pragma once

#include <cstdint>
#include <string>

namespace engine {

/// The limit on what is in flight: requests (n counts n) and prompt tokens still to be prefilled. 0: no
/// limit.
class Admission
{
public:
    Admission(int maxRequests, std::int64_t maxTokens) : m_maxRequests(maxRequests), m_maxTokens(maxTokens) {}

    /// Empty if there is room, and then it is taken; else which limit is reached (the metrics' word for it).
    [[nodiscard]] std::string admit(int requests, std::int64_t promptTokens)
    {
        const std::string reason = whyNot(requests, promptTokens);
        if (reason.empty()) {
            m_requests += requests;
            m_tokens += promptTokens;
        }
        return reason;
    }

    [[nodiscard]] std::string whyNot(int requests, std::int64_t promptTokens) const
    {
        if (m_maxRequests > 0 && m_requests + requests > m_maxRequests)
            return "max_num_queued_reqs";
        if (m_maxTokens > 0 && m_tokens + promptTokens > m_maxTokens)
            return "max_num_queued_tokens";
        return {};
    }

    void requestEnded() { --m_requests; }
    void promptDone(std::int64_t promptTokens) { m_tokens -= promptTokens; }
    [[nodiscard]] int requests() const { return m_requests; }
    [[nodiscard]] std::int64_t tokens() const { return m_tokens; }

private:
    int m_maxRequests;
    std::int64_t m_maxTokens;
    int m_requests = 0;
    std::int64_t m_tokens = 0;
};

} // namespace engine
