// Pods and ComputeClasses as the autoscaler reads them: {"pod": ..., "class": ..., "node": ...}.

#include "cluster/local/nodes/auto_pools.h"

#include <cstdint>
#include <nlohmann/json.hpp>

using namespace cluster::local;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto json = nlohmann::json::parse(data, data + size, nullptr, false);
    if (!json.is_object() || !json.contains("pod"))
        return 0;
    const PodNeeds pod = podNeeds(json["pod"]);
    (void)isUnschedulable(json["pod"]);
    const nlohmann::json none;
    if (json.contains("node")) {
        const NodeTemplate node = nodeTemplate(json["node"]);
        (void)misfit(pod, node);
        (void)packed({&pod, &pod}, node, 3);
    }
    const std::vector<MachineOffer> offers{
        {"e2-standard-4", {4, 16}, {}, 0, {}, 0, {"a-b"}},
        {"ct6e-standard-4t", {180, 720}, {}, 0, "tpu-v6e-slice", 4, {"a-b"}}};
    for (const PoolWish &wish : wishesOf(pod, json.contains("class") ? json["class"] : none))
        (void)poolFor(wish, pod, {"p", "c", "a", "1.34", 10250}, offers);
    return 0;
}
