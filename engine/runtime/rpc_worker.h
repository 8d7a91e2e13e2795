#pragma once

#include <cstdint>

namespace engine {

/// ggml's RPC server on a loopback port, with this host's GPU devices or, without any, its CPU. Serves one
/// connection at a time without asking who it is: only ever behind engine/group. Returns only if it can't
/// start (exit code 1). `threads`: 0 for the default.
int runRpcServer(std::uint16_t port, int threads);

} // namespace engine
