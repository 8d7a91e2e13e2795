#pragma once

#include "cluster/base/result.h"
#include "options.h"

namespace slipway_adapter {

/// Serves until SIGTERM. Errors: what keeps it from that, in the real adapter's words where it has any.
cluster::Status runAdapter(const Options &options);

} // namespace slipway_adapter
