#include "cluster/local/runtimes/ray/proxy_counts.h"

#include <algorithm>

namespace cluster::local {

void LatencyCounts::add(double milliseconds)
{
    const auto bucket = std::lower_bound(serveBuckets.begin(), serveBuckets.end(), milliseconds);
    if (bucket != serveBuckets.end())
        ++buckets[static_cast<std::size_t>(bucket - serveBuckets.begin())];
    ++count;
    sum += milliseconds;
}

void ProxyCounts::add(ProxyKey key, std::chrono::duration<double, std::milli> latency)
{
    if (requests.size() >= mostKeys && !requests.contains(key))
        key.route = key.method = "/";
    requests[std::move(key)].add(latency.count());
}

} // namespace cluster::local
