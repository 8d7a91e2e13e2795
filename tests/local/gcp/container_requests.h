#pragma once

#include "tests/local/gcp/gcp_fixture.h"

#include <QTest>
#include <algorithm>

namespace tests {

inline nlohmann::json clusterBody(const char *name, const nlohmann::json &more = nlohmann::json::object())
{
    nlohmann::json cluster{
        {"name", name},
        {"nodePools",
         {{{"name", "default-pool"}, {"initialNodeCount", 1}, {"config", nlohmann::json::object()}}}}};
    cluster.update(more);
    return {{"cluster", std::move(cluster)}};
}

inline nlohmann::json slice(const char *name = "v6e-16")
{
    return {{"nodePool",
             {{"name", name},
              {"initialNodeCount", 4},
              {"locations", {"us-east5-b"}},
              {"placementPolicy", {{"tpuTopology", "4x4"}}},
              {"config", {{"machineType", "ct6e-standard-4t"}}}}}};
}

inline constexpr const char *kZone = "us-east5-b/clusters";
inline constexpr const char *kCluster = "us-east5-b/clusters/c";
inline constexpr const char *kPools = "us-east5-b/clusters/c/nodePools";

inline bool has(const std::vector<std::string> &list, const std::string &wanted)
{
    return std::find(list.begin(), list.end(), wanted) != list.end();
}

inline void makeCluster(GcpFixture &google, const nlohmann::json &more = nlohmann::json::object())
{
    const nlohmann::json done = google.finished(google.container("POST", kZone, clusterBody("c", more)));
    QVERIFY2(!done.contains("error"), done.dump().c_str());
}

} // namespace tests
