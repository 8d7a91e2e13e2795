// A Kubernetes API server's refusal: the first byte gives its HTTP status.

#include "cluster/kube/kube_error.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const auto status
        = cluster::parseKubeStatus(400 + data[0], {reinterpret_cast<const char *>(data + 1), size - 1});
    if (cluster::toError(status, "creating pods default/x").message.empty())
        std::abort();
    return 0;
}
