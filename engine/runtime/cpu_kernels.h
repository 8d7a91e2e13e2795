#pragma once

#include "engine/protocol/messages.h"

namespace engine {

/// Lets models that are loaded from now on compute with our own kernels where this machine can: products of
/// Q4_1 matrices (packed_q4.h) and attention over a shared cache (cell_attention.h). All else, and all on
/// other machines, stays ggml's own.
///
/// How: ggml asks its "extra buffer types" for other layouts of weights and for other ways to compute an
/// operation. Only its internal headers lead there; the pinned source keeps them stable.
void offerCpuKernels();

/// What each cell of the cache that a row does not see costs that row on this CPU.
[[nodiscard]] Seconds hiddenCellCost(const ModelFacts &facts);

} // namespace engine
