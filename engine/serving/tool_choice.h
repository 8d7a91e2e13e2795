#pragma once

#include "engine/protocol/messages.h"
#include "engine/serving/field_reader.h"
#include "engine/serving/server_options.h"
#include <optional>
#include <string>

namespace engine {

/// What a chat request says about tools, checked.
struct ToolPlan
{
    enum class Mode { None, Auto, Required, Named };

    Mode mode = Mode::None;
    std::string toolsJson; ///< For the chat template; empty without tools.
    std::string name; ///< Mode::Named.
    bool parallel = true;
    std::optional<GrammarRequest> grammar; ///< Required and Named: what a call must look like.
    bool wrapped = false; ///< The grammar is to be put into the parser's own tags (newest dialect).
};

[[nodiscard]] ApiResult<ToolPlan> readToolPlan(FieldReader &reader, const ServerOptions &options,
                                               const Dialect &dialect);

/// A GBNF for calls within Hermes' tags from the GBNF of one call object. several: one or more of them.
[[nodiscard]] std::string wrapCallGrammar(const std::string &callGrammar, bool several);

} // namespace engine
