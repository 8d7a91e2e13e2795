#pragma once

#include "engine/runtime/decoder.h"

namespace engine {

/// Index of the largest value, the first of equals. `logits` is not empty.
[[nodiscard]] TokenId argmax(std::span<const float> logits);

/// Natural logarithm of the sum of exponentials.
[[nodiscard]] double logSumExp(std::span<const float> logits);

/// The token with its raw model log-probability and, as `top`, the k most likely ones, best first.
[[nodiscard]] TokenOutput describeToken(TokenId token, std::span<const float> logits, int k,
                                        const Vocabulary &vocabulary);

} // namespace engine
