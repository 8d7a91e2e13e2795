#pragma once

#include <QString>

namespace ui {

/// The eight states of design section 2. Each has a shape, a colour and a word; colour never stands alone.
enum class State { None, Ok, Run, Wait, Warn, Err, Paused, Skipped, Unknown };

/// Name of the SVG in resources/theme/icons ("state-ok"); empty for None.
[[nodiscard]] QString stateIconName(State state);
/// Name of the colour in tokens.json ("ok"); "text.2" for None.
[[nodiscard]] QString stateColorName(State state);
/// The everyday word ("Ready"), for accessible names and where the caller has no better one.
[[nodiscard]] QString stateWord(State state);

} // namespace ui
