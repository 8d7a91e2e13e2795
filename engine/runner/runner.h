#pragma once

namespace engine {

/// The whole life of a runner process: reads RunnerOptions from the socket `descriptor` (which it owns),
/// loads the model, answers with ModelFacts or Fatal, then serves until the front closes the socket or asks
/// to end. Returns the exit code: 0 after a clean end, 1 after Fatal, 2 if the front broke the protocol.
int runRunner(int descriptor);

} // namespace engine
