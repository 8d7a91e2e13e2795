#include "cluster/local/nodes/node_names.h"

namespace cluster::local {

namespace {

constexpr std::size_t longestPart = 16; // of the cluster's and the pool's name in an instance's name

std::string shortened(const std::string &name)
{
    std::string part = name.substr(0, longestPart);
    while (part.ends_with('-'))
        part.pop_back();
    return part;
}

/// Four of the letters that Google's instance groups use.
std::string suffix(std::uint64_t number)
{
    constexpr std::string_view letters = "0123456789bcdfghjklmnpqrstvwxz";
    std::string text;
    for (int i = 0; i < 4; ++i) {
        text += letters[number % letters.size()];
        number /= letters.size();
    }
    return text;
}

} // namespace

std::uint64_t stableHash(std::string_view text)
{
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 1099511628211U;
    }
    // FNV's low bits of similar texts are similar; names are made of few bits.
    hash ^= hash >> 33U;
    hash *= 0xff51afd7ed558ccdU;
    hash ^= hash >> 33U;
    return hash;
}

std::string stableHex(std::string_view text, int digits)
{
    constexpr std::string_view hex = "0123456789abcdef";
    std::string result;
    std::uint64_t hash = stableHash(text);
    for (int i = 0; i < digits; ++i) {
        if (i > 0 && i % 16 == 0)
            hash = stableHash(std::string(text) + '#' + std::to_string(i));
        result += hex[hash & 15U];
        hash >>= 4U;
    }
    return result;
}

std::string nodeName(const std::string &project, const std::string &clusterName, const PoolSpec &pool,
                     const std::string &zone, int slot, int attempt)
{
    const std::string group = project + '/' + clusterName + '/' + pool.name + '/' + zone;
    const std::string tail = '-' + stableHex(group, 8) + '-'
        + suffix(stableHash(group + '/' + std::to_string(slot) + '/' + std::to_string(attempt)));
    if (pool.isAutopilot)
        return "gk3-" + shortened(clusterName) + '-' + shortened(pool.name) + tail;
    if (pool.tpuChipsPerNode > 0)
        return "gke-tpu" + tail;
    return "gke-" + shortened(clusterName) + '-' + shortened(pool.name) + tail;
}

} // namespace cluster::local
