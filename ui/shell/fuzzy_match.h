#pragma once

#include <QString>
#include <optional>

namespace ui {

/// How well `typed` names `text`, higher is better; nothing if its letters do not occur in `text` in this
/// order. Letters at the beginning of words and in a row count more; case and the blanks of `typed` count
/// nothing.
[[nodiscard]] std::optional<int> fuzzyScore(QStringView typed, QStringView text);

} // namespace ui
