#pragma once

#include "cluster/local/runtimes/ray/ray_values.h"

#include <array>
#include <compare>
#include <map>
#include <string>

namespace cluster::local {

/// Serve's buckets of latencies, in milliseconds.
constexpr std::array<double, 19> serveBuckets{1,   2,    5,    10,   20,    50,    100,    200,    300,   400,
                                              500, 1000, 2000, 5000, 10000, 60000, 120000, 300000, 600000};

struct ProxyKey
{
    std::string app, method, route;
    int status = 0;
    auto operator<=>(const ProxyKey &) const = default;
};

struct LatencyCounts
{
    std::array<std::uint64_t, serveBuckets.size()> buckets{}; ///< not yet added up
    std::uint64_t count = 0;
    double sum = 0; ///< milliseconds

    void add(double milliseconds);
};

/// What a proxy has counted, for the metrics page.
struct ProxyCounts
{
    static constexpr std::size_t mostKeys = 500; ///< clients choose routes: more are counted as "/"

    std::map<ProxyKey, LatencyCounts> requests;
    int ongoing = 0;

    void add(ProxyKey key, std::chrono::duration<double, std::milli> latency);
};

} // namespace cluster::local
