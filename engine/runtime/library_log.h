#pragma once

namespace engine {

/// Sends the log of llama.cpp to standard error, warnings and errors only, each line with the program's
/// prefix, and writes the reason of an abort as the last line: `slipway-runner: abort: ...`. For the
/// supervisor to read. Call once, before anything else of this room. It can't prevent the abort.
void routeLibraryLog();

} // namespace engine
