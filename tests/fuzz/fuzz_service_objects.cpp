// Services and EndpointSlices of any shape: one JSON value a line, each taken for both.

#include "cluster/local/network/service_table.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const AddressPlan plan = *AddressPlan::forCluster(0);
    ServiceTable table(plan);
    std::string_view rest(reinterpret_cast<const char *>(data), size);
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
        if (object.is_discarded())
            continue;
        table.applyService(object);
        table.applyEndpointSlice(object);
        (void)table.hostsText("default");
    }
    for (const ServicePort &port : table.ports()) {
        const auto target = table.resolve(port.clusterIp, port.port);
        if (target && !plan.contains(inCluster(target->address)))
            std::abort();
    }
    (void)table.resolve("web.default", 80);
    return 0;
}
