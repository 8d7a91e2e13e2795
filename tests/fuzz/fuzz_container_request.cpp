// A node pool, an autoscaling and a fault as clients send them in JSON: rules and conversions must take
// whatever it is, or refuse it.

#include "cluster/local/gcp/faults.h"
#include "cluster/local/gcp/gke_rules.h"

#include <cstdint>
#include <nlohmann/json.hpp>

using namespace cluster;
using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
    if (json.is_discarded())
        return 0;
    (void)Fault::fromJson(json);
    PoolSurroundings surroundings;
    surroundings.location = "us-east5-b";
    surroundings.zones = {"us-east5-b"};
    surroundings.version = "1.34.4-gke.1047000";
    try {
        const auto request
            = poolRequestOf(json, surroundings, GkeCatalog::builtIn(), ComputeCatalog::builtIn());
        if (request) {
            (void)checkPool(*request, surroundings, GkeCatalog::builtIn(), ComputeCatalog::builtIn());
            (void)checkResize(request->spec, 4);
            (void)checkNodeVersion(request->spec.version, surroundings.version, GkeCatalog::builtIn());
        }
    } catch (const nlohmann::json::exception &) { // answered 400
    }
    return 0;
}
