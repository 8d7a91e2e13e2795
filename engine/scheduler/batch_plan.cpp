#include "engine/scheduler/batch_plan.h"

#include <algorithm>
#include <numeric>

namespace engine {

std::vector<int> sharePrefill(std::span<const PrefillDemand> demands, int budget)
{
    std::vector<int> share(demands.size(), 0);
    if (demands.empty() || budget <= 0)
        return share;
    const auto give = [&](std::size_t i, int most) {
        const int wanted = std::min(demands[i].remaining, demands[i].limit) - share[i];
        const int given = std::clamp(wanted, 0, most);
        share[i] += given;
        budget -= given;
    };
    give(0, std::max(1, budget / 4));
    std::vector<std::size_t> order(demands.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return demands[a].urgency < demands[b].urgency; });
    for (const std::size_t i : order)
        give(i, budget);
    return share;
}

} // namespace engine
