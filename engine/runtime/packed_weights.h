#pragma once

namespace engine {

/// Lets models that are loaded from now on keep their Q4_1 matrices in the layout of packed_q4.h, where this
/// machine can compute with it; otherwise nothing changes. Uses ggml's own place for other layouts of weights
/// ("extra buffer types"), to which only ggml's internal headers lead: the pinned source keeps them stable.
void offerPackedWeights();

} // namespace engine
