#pragma once

#include <span>
#include <vector>

namespace engine {

/// A prompt that is being computed.
struct PrefillDemand
{
    int remaining = 0; ///< Tokens until its first answer token.
    int urgency = 0; ///< What orders it: `remaining`, or less if others wait for a part of it.
    int limit = 0; ///< At most so many in this step.
};

/// Divides a step's tokens among prompts, which come in order of admission: a quarter is the oldest one's, so
/// that it always gets on; all else goes to the shortest first, so that a short prompt never waits for a long
/// one. Returns the tokens for each demand; together at most `budget`.
[[nodiscard]] std::vector<int> sharePrefill(std::span<const PrefillDemand> demands, int budget);

} // namespace engine
