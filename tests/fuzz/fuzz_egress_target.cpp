// The target of a CONNECT: whatever is asked, the answer lies in the cluster or is a refusal.

#include "cluster/local/network/egress_proxy.h"
#include "cluster/local/network/service_table.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static const AddressPlan plan = *AddressPlan::forCluster(0);
    static const EgressProxyOptions options{{}, plan, {Ipv4{0x7F000001}, 4000, {}}};
    static ServiceTable table(plan);
    static const bool isFilled = [] {
        table.applyService({{"metadata", {{"name", "web"}, {"namespace", "default"}}},
                            {"spec", {{"clusterIP", "10.201.0.9"}, {"ports", {{{"port", 80}}}}}}});
        table.applyEndpointSlice(
            {{"metadata",
              {{"name", "s"}, {"namespace", "default"}, {"labels", {{"kubernetes.io/service-name", "web"}}}}},
             {"ports", {{{"port", 8000}}}},
             {"endpoints", {{{"addresses", nlohmann::json::array({"10.16.0.1"})}, {"hostname", "h"}}}}});
        return true;
    }();
    (void)isFilled;
    const auto target = egressTarget({reinterpret_cast<const char *>(data), size}, options, table);
    if (!target)
        return 0;
    const bool isKubelet = target->address == options.kubelet.address && target->port == options.kubelet.port;
    if (!isKubelet && !plan.contains(inCluster(target->address)))
        std::abort();
    if ((target->address.value >> 24) != 127 || target->port == 0)
        std::abort();
    return 0;
}
