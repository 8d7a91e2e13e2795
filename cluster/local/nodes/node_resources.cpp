#include "cluster/local/nodes/node_resources.h"

#include <algorithm>
#include <array>

namespace cluster::local {

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double mib = 1024.0 * 1024.0;

// What the kernel and the file system leave, from dumps of live nodes: a ct6e-standard-1t of 176 GB had 162.7
// GiB allocatable, a boot disk of 100 GB 98831908 KiB.
constexpr double kernelShare = 0.983;
constexpr double fileSystemShare = 98831908.0 / (100.0 * 1024.0 * 1024.0);

struct Bracket
{
    double size; ///< of what is left, in cores or GiB
    double share;
};

template<std::size_t count>
double reserved(double whole, const std::array<Bracket, count> &brackets)
{
    double sum = 0;
    for (const Bracket &bracket : brackets) {
        const double part = std::min(whole, bracket.size);
        sum += part * bracket.share;
        whole -= part;
    }
    return sum;
}

constexpr double rest = 1e9;
constexpr std::array cpuBrackets{Bracket{1, 0.06}, Bracket{1, 0.01}, Bracket{2, 0.005},
                                 Bracket{rest, 0.0025}};
constexpr std::array memoryBrackets{Bracket{4, 0.25}, Bracket{4, 0.20}, Bracket{8, 0.10}, Bracket{112, 0.06},
                                    Bracket{rest, 0.02}};

double diskGib(const PoolSpec &pool)
{
    constexpr int localSsdGb = 375;
    return pool.localSsdCount > 0 ? pool.localSsdCount * localSsdGb : pool.diskGb;
}

double reservedDisk(const PoolSpec &pool)
{
    if (pool.localSsdCount > 0)
        return (pool.localSsdCount == 1 ? 50 : pool.localSsdCount == 2 ? 75 : 100) * gib;
    const double disk = diskGib(pool);
    return std::min({disk * 0.5, 6 + disk * 0.35, 100.0}) * gib;
}

std::int64_t inWholeKib(double bytes)
{
    return static_cast<std::int64_t>(bytes / 1024) * 1024;
}

} // namespace

NodeResources nodeCapacity(const MachineShape &machine, const PoolSpec &pool)
{
    NodeResources capacity;
    capacity.cpuMilli = machine.vcpu * 1000;
    capacity.memoryBytes = inWholeKib(machine.memoryGb * gib * kernelShare);
    capacity.ephemeralBytes = inWholeKib(diskGib(pool) * gib * fileSystemShare);
    return capacity;
}

NodeResources nodeAllocatable(const NodeResources &capacity, const PoolSpec &pool)
{
    constexpr int defaultPods = 110;
    constexpr double smallestMachine = 1024 * mib;
    NodeResources left = capacity;
    const double cores = capacity.cpuMilli / 1000.0;
    left.cpuMilli -= static_cast<int>(reserved(cores, cpuBrackets) * 1000 + 0.5);
    if (pool.maxPodsPerNode > defaultPods)
        left.cpuMilli = std::max(0, left.cpuMilli - 400);

    const auto memory = static_cast<double>(capacity.memoryBytes);
    const double kept = memory < smallestMachine ? 255 * mib : reserved(memory / gib, memoryBrackets) * gib;
    left.memoryBytes = std::max<std::int64_t>(0, inWholeKib(memory - kept - 100 * mib));

    const auto disk = static_cast<double>(capacity.ephemeralBytes);
    left.ephemeralBytes
        = std::max<std::int64_t>(0, static_cast<std::int64_t>(disk - disk * 0.1 - reservedDisk(pool)));
    return left;
}

} // namespace cluster::local
