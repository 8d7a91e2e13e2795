#include "engine/runtime/host_resources.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <string>

namespace engine {

namespace {

/// A number from a one-line file; -1 if there is none ("max" is none).
std::int64_t numberIn(const char *path)
{
    std::ifstream file(path);
    std::int64_t value = -1;
    return file >> value ? value : -1;
}

int usableCores()
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    int count = 1;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        count = std::max(1, CPU_COUNT(&cores));
    std::ifstream limits("/sys/fs/cgroup/cpu.max");
    std::int64_t quota = 0;
    std::int64_t period = 0;
    if (limits >> quota >> period && period > 0) // "max 100000" does not read as a number
        count = std::min(count, static_cast<int>(std::max<std::int64_t>(1, quota / period)));
    return count;
}

} // namespace

int defaultThreads()
{
    const int cores = usableCores();
    return cores <= 2 ? 1 : cores - 1;
}

std::int64_t availableMemoryBytes()
{
    std::int64_t available = -1;
    std::ifstream info("/proc/meminfo");
    std::string key;
    std::int64_t kibibytes = 0;
    for (std::string unit; info >> key >> kibibytes; std::getline(info, unit)) {
        if (key == "MemAvailable:") {
            available = kibibytes * 1024;
            break;
        }
    }
    const std::int64_t limit = numberIn("/sys/fs/cgroup/memory.max");
    const std::int64_t used = numberIn("/sys/fs/cgroup/memory.current");
    if (limit > 0 && used >= 0) {
        const std::int64_t left = std::max<std::int64_t>(0, limit - used);
        available = available < 0 ? left : std::min(available, left);
    }
    return available;
}

} // namespace engine
