#include "cluster/local/gcp/ip_space.h"

#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/json_members.h"
#include "cluster/local/gcp/pool_request.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::int64_t kReservedAddresses = 4; // network, gateway, second to last, broadcast
constexpr const char *kDefaultNodeRange = "10.128.0.0/20"; // of the default network's subnetworks
constexpr const char *kDefaultPodRange = "10.16.0.0/13"; // as cluster_json gives it
constexpr int kDefaultMaxPods = 110;

/// The number behind the slash; also of "/17". Nothing for another text.
std::optional<int> prefixLength(const std::string &range)
{
    const auto slash = range.rfind('/');
    if (slash == std::string::npos)
        return std::nullopt;
    int length = 0;
    const char *const end = range.data() + range.size();
    const auto [rest, failure] = std::from_chars(range.data() + slash + 1, end, length);
    if (failure != std::errc{} || rest != end || length < 8 || length > 30)
        return std::nullopt;
    return length;
}

struct Needs
{
    std::int64_t nodes = 0;
    std::int64_t podAddresses = 0;
};

Needs needsOf(const json &cluster)
{
    Needs needs;
    for (const json &pool : member(cluster, "nodePools")) {
        if (textMember(pool, "status") == "ERROR")
            continue; // its machines never came
        const json &maxPods = member(member(pool, "maxPodsConstraint"), "maxPodsPerNode");
        const int pods = maxPods.is_null() ? kDefaultMaxPods : static_cast<int>(integerOf(maxPods));
        const auto zones = std::max<std::size_t>(1, member(pool, "locations").size());
        const std::int64_t nodes
            = pool.value("initialNodeCount", std::int64_t{0}) * static_cast<std::int64_t>(zones);
        needs.nodes += nodes;
        needs.podAddresses += nodes << (32 - podRangeLength(pods));
    }
    return needs;
}

} // namespace

int podRangeLength(int maxPodsPerNode)
{
    const auto addresses = std::bit_ceil(static_cast<unsigned>(2 * std::clamp(maxPodsPerNode, 8, 256)));
    return 32 - std::countr_zero(addresses);
}

std::optional<ExhaustedRange> exhaustedRange(const json &cluster, const std::string &project)
{
    const Needs needs = needsOf(cluster);
    const json &allocation = member(cluster, "ipAllocationPolicy");
    std::string subnetwork = textMember(cluster, "subnetwork");
    subnetwork.erase(0, subnetwork.rfind('/') + 1);
    const std::string root = "projects/" + project + "/regions/"
        + regionOfZone(textMember(cluster, "location")) + "/subnetworks/"
        + (subnetwork.empty() ? "default" : subnetwork);
    std::string nodes = textMember(allocation, "nodeIpv4CidrBlock");
    if (nodes.empty())
        nodes = kDefaultNodeRange;
    const auto addresses = std::int64_t{1} << (32 - prefixLength(nodes).value_or(20));
    if (needs.nodes > addresses - kReservedAddresses)
        return ExhaustedRange{root, nodes, false};
    std::string pods = textMember(allocation, "clusterIpv4CidrBlock");
    if (pods.empty())
        pods = kDefaultPodRange;
    if (needs.podAddresses <= std::int64_t{1} << (32 - prefixLength(pods).value_or(13)))
        return std::nullopt;
    const std::string secondary = textMember(allocation, "clusterSecondaryRangeName");
    return ExhaustedRange{
        root + "-" + (secondary.empty() ? "gke-" + textMember(cluster, "name") + "-pods" : secondary), pods,
        true};
}

std::string wordsOf(const ExhaustedRange &range)
{
    return "IP space of '" + range.name + "' is exhausted. Insufficient free IP addresses in the IP range '"
        + range.range
        + "'. Consider expanding the current IP range or selecting an alternative IP range. If this is a "
          "secondary range, consider adding an additional secondary range.";
}

} // namespace cluster::local
