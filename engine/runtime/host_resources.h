#pragma once

#include <cstdint>

namespace engine {

/// Threads that inference should use when nobody said: one on up to two cores, because two threads that wait
/// for each other on a busy small machine are slower than one; else all but one core, which the front needs.
/// Counts the cores this process may use (affinity and control-group quota).
[[nodiscard]] int defaultThreads();

/// Bytes that can be used without swapping, within the control group's limit; -1 if the system does not say.
[[nodiscard]] std::int64_t availableMemoryBytes();

} // namespace engine
