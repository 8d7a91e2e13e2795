#pragma once

#include "engine/protocol/messages.h"
#include <span>

namespace engine {

/// The state of one constrained output. One thread at a time.
class Grammar
{
public:
    virtual ~Grammar() = default;
    [[nodiscard]] virtual bool allows(TokenId token) = 0; ///< Cheap: one token.
    virtual void mask(std::span<float> logits)
        = 0; ///< Minus infinity for what is not allowed; costs the vocabulary.
    virtual void accept(TokenId token) = 0;
};

} // namespace engine
