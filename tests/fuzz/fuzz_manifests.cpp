// Manifests as users write them.

#include "cluster/kube/discovery.h"

#include <cstdint>
#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto documents = cluster::parseManifests(std::string(reinterpret_cast<const char *>(data), size));
    for (std::size_t i = 0; documents && i < documents->size(); ++i)
        (void)(*documents)[i].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return 0;
}
