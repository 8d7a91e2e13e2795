#pragma once

#include "engine/protocol/messages.h"

namespace engine {

/// How many tokens a step may compute so that it lasts about as long as those who wait for their next token
/// will bear. Learns the speed of the machine from the steps that were done.
class StepBudget
{
public:
    StepBudget(int largest, Seconds target) : m_largest(largest), m_target(target) {}

    void observe(int tokens, Seconds duration);
    /// Between the smallest chunk that is computed efficiently and the largest step allowed.
    [[nodiscard]] int tokens() const;
    [[nodiscard]] Seconds perToken() const ///< 0: not known yet.
    {
        return Seconds(m_tokensPerSecond > 0 ? 1 / m_tokensPerSecond : 0);
    }

private:
    int m_largest;
    Seconds m_target;
    double m_tokensPerSecond = 0; ///< 0: not known yet.
};

} // namespace engine
