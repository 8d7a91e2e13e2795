#include "engine/scheduler/step_budget.h"

#include <algorithm>

namespace engine {

namespace {
constexpr int smallestChunk
    = 32; ///< On a CPU matrix products gain nothing from more (measured), and lose below 16.
constexpr double weight = 0.2; ///< Of a new observation.
} // namespace

void StepBudget::observe(int tokens, Seconds duration)
{
    if (tokens < smallestChunk / 2 || duration.count() <= 0)
        return; // small steps say little about the speed of prefilling
    const double speed = tokens / duration.count();
    m_tokensPerSecond = m_tokensPerSecond <= 0 ? speed : (1 - weight) * m_tokensPerSecond + weight * speed;
}

int StepBudget::tokens() const
{
    const double wanted = m_tokensPerSecond <= 0 ? smallestChunk * 2.0 : m_tokensPerSecond * m_target.count();
    const double clamped = std::min(wanted, static_cast<double>(m_largest));
    return std::min(m_largest, std::max(smallestChunk, static_cast<int>(clamped)));
}

} // namespace engine
