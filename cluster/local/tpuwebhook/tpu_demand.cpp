#include "cluster/local/tpuwebhook/tpu_demand.h"

#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <charconv>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

constexpr long mostChips = 1L << 20; // of a topology: far above the largest pod, far below an overflow

/// A whole number of chips, written as a number or as a text; 0 for anything else.
long wholeNumber(const Json &value)
{
    if (value.is_number_integer())
        return std::max(0L, value.get<long>());
    if (!value.is_string())
        return 0;
    const auto &digits = value.get_ref<const std::string &>();
    long number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && end == digits.data() + digits.size() ? std::max(0L, number) : 0;
}

long chipsOf(const Json &container)
{
    const Json &resources = at(container, "resources");
    const long requested = wholeNumber(at(at(resources, "requests"), "google.com/tpu"));
    return requested > 0 ? requested : wholeNumber(at(at(resources, "limits"), "google.com/tpu"));
}

} // namespace

TpuDemand tpuDemand(const Json &podSpec)
{
    TpuDemand demand;
    const Json &containers = at(podSpec, "containers");
    for (std::size_t i = 0; containers.is_array() && i < containers.size(); ++i) {
        if (const long chips = chipsOf(containers[i]); chips > 0) {
            demand.chipsPerHost += std::min(chips, mostChips);
            demand.containers.push_back(i);
        }
    }
    const std::string accelerator = text(at(podSpec, "nodeSelector"), "cloud.google.com/gke-tpu-accelerator");
    demand.isV7x = accelerator.starts_with("tpu7x");
    return demand;
}

std::string tpuTopology(const Json &podSpec)
{
    return text(at(podSpec, "nodeSelector"), "cloud.google.com/gke-tpu-topology");
}

Result<long> hostsOfSlice(const std::string &topology, long chipsPerHost)
{
    long chips = 1;
    std::size_t from = 0;
    while (from <= topology.size()) {
        const std::size_t end = std::min(topology.find('x', from), topology.size());
        long side = 0;
        const auto [stop, error] = std::from_chars(topology.data() + from, topology.data() + end, side);
        const bool isNumber = error == std::errc() && stop == topology.data() + end && from < end;
        if (!isNumber || side < 1 || side > mostChips || chips > mostChips / side)
            return fail(ErrorCode::InvalidArgument,
                        "the TPU topology \"" + topology + "\" is not one: 4x4, 2x2x1");
        chips *= side;
        from = end + 1;
    }
    if (chipsPerHost < 1)
        return fail(ErrorCode::InvalidArgument, "no chips per host");
    return std::max(1L, chips / chipsPerHost);
}

} // namespace cluster::local
