#pragma once

#include "cluster/httpd/byte_stream.h"
#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

enum class PumpEnd {
    SourceEnded, ///< In good order; the sink was told (shutdownWrite).
    SourceBroke,
    SinkBroke,
};

/// Moves bytes from one stream to another until one of them ends. At most 64 KiB in between: a slow sink
/// slows the source. `done` is called once, or never if one of the streams is closed meanwhile.
void pumpStream(std::shared_ptr<ByteStream> from, std::shared_ptr<ByteStream> to,
                std::function<void(PumpEnd)> done);

/// Reads and forgets until the stream ends.
void drainStream(std::shared_ptr<ByteStream> from, std::function<void(PumpEnd)> done);

} // namespace cluster::local
