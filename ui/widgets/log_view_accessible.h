#pragma once

namespace ui {

/// Makes LogView known to screen readers as a list whose children are the lines on the screen. Idempotent.
void installLogViewAccessible();

} // namespace ui
