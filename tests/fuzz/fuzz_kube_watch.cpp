// The stream of a watch, in pieces whose length the first byte gives.

#include "cluster/kube/watch_reader.h"

#include <cstdint>
#include <nlohmann/json.hpp>

using namespace cluster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size == 0)
        return 0;
    const WatchHandler handler = [](WatchEventType, nlohmann::json &object) -> Result<Reading> {
        return object.contains("stop") ? Reading::Stop : Reading::Continue;
    };
    WatchReader reader(handler, "1", "watching");
    std::string_view rest(reinterpret_cast<const char *>(data), size);
    const std::size_t piece = static_cast<unsigned char>(rest.front()) + 1U;
    rest.remove_prefix(1);
    while (!rest.empty()) {
        const auto reading = reader.read(rest.substr(0, piece));
        if (!reading || *reading == Reading::Stop)
            break;
        rest.remove_prefix(std::min(piece, rest.size()));
    }
    return 0;
}
