#pragma once

#include <algorithm>
#include <chrono>

namespace cluster {

/// The moment after which an answer is of no use any more. Made once where the work begins and handed down,
/// so that several steps share one limit. The time is a parameter: tests ask about any moment without waiting
/// for it.
class Deadline
{
public:
    using Clock = std::chrono::steady_clock;

    /// A default-made deadline never passes.
    constexpr Deadline() = default;
    explicit constexpr Deadline(Clock::time_point at) : m_at(at) {}

    /// `now` + `limit`; never, where that can't be represented.
    static constexpr Deadline after(Clock::duration limit, Clock::time_point now = Clock::now())
    {
        const bool isRepresentable = limit < Clock::time_point::max() - now;
        return isRepresentable ? Deadline(now + limit) : Deadline();
    }

    [[nodiscard]] constexpr bool isNever() const { return m_at == Clock::time_point::max(); }
    [[nodiscard]] constexpr bool hasPassed(Clock::time_point now = Clock::now()) const { return m_at <= now; }

    /// Zero once it has passed; the longest duration if it never does.
    [[nodiscard]] constexpr Clock::duration remaining(Clock::time_point now = Clock::now()) const
    {
        return isNever() ? Clock::duration::max() : std::max(Clock::duration::zero(), m_at - now);
    }

    friend constexpr Deadline earlier(Deadline a, Deadline b) { return a.m_at < b.m_at ? a : b; }

private:
    Clock::time_point m_at = Clock::time_point::max();
};

} // namespace cluster
