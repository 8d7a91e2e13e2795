#pragma once

namespace ui {

/// Makes Qt hand out the accessible interface of TranscriptView: one child per message, made when asked for.
/// Once.
void installTranscriptAccessibility();

} // namespace ui
