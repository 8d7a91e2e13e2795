#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace cluster::local {

struct ProcessUsage
{
    std::uint64_t cpuNanoseconds = 0;
    std::uint64_t residentBytes = 0, anonymousBytes = 0;
};

/// The processes of this machine at one moment, from /proc.
class ProcessTable
{
public:
    static ProcessTable read();

    /// Of a process and all below it, children that have ended included as far as they were waited for.
    [[nodiscard]] ProcessUsage usageOf(int pid) const;

private:
    struct Entry
    {
        int parent = 0;
        std::uint64_t ticks = 0;
    };
    std::map<int, Entry> m_entries;
    std::multimap<int, int> m_children;
};

/// PIDs of processes whose environment has NAME=value; those of others that can't be read are left out.
std::vector<int> processesWith(const char *name, const char *value);

} // namespace cluster::local
