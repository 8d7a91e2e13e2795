#include "cluster/local/runtimes/ray/machine_stats.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace cluster::local {

RayNodeStats MachineStats::read()
{
    RayNodeStats stats;
    std::string word, line;
    std::ifstream processors("/proc/stat");
    processors >> word;
    std::uint64_t all = 0, idle = 0, ticks = 0;
    for (int field = 0; field < 8 && processors >> ticks; ++field) {
        all += ticks;
        idle += field == 3 || field == 4 ? ticks : 0; // idle and waiting for disks
    }
    if (all > m_all && m_all > 0)
        stats.cpuPercent
            = 100.0 * static_cast<double>(all - idle - m_busy) / static_cast<double>(all - m_all);
    m_all = all;
    m_busy = all - idle;
    std::ifstream memory("/proc/meminfo");
    std::uint64_t available = 0;
    while (std::getline(memory, line)) {
        std::istringstream parts(line);
        std::uint64_t kibibytes = 0;
        parts >> word >> kibibytes;
        if (word == "MemTotal:")
            stats.memoryTotalBytes = kibibytes * 1024;
        else if (word == "MemAvailable:")
            available = kibibytes * 1024;
    }
    stats.memoryUsedBytes = stats.memoryTotalBytes - std::min(available, stats.memoryTotalBytes);
    std::uint64_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    stats.ownBytes = resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    ::getloadavg(stats.load, 3);
    return stats;
}

} // namespace cluster::local
