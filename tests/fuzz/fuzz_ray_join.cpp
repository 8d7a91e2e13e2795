// Lines of the join protocol, as each end reads them: a head from whoever connects, a worker from its head.
// And the metrics page of an engine.

#include "cluster/local/runtimes/ray/head_codec.h"
#include "cluster/local/runtimes/ray/metrics_page.h"
#include "cluster/local/runtimes/ray/worker_codec.h"

#include <cstdlib>

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    (void)readWorkerMessage(text);
    // What a worker has read, its head would have written so.
    if (const auto message = readHeadMessage(text)) {
        if (const auto *proxy = std::get_if<HeadProxy>(&*message)) {
            const auto again = readHeadMessage(proxyLine(proxy->plan));
            if (!again)
                std::abort();
        }
    }
    (void)engineMetrics(text, "r");
    return 0;
}
