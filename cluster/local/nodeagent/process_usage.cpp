#include "cluster/local/nodeagent/process_usage.h"

#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace cluster::local {

namespace {

std::string readFile(const std::string &path)
{
    std::string text;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return text;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(file, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(size));
    ::close(file);
    return text;
}

template<typename Visit>
void forEachProcess(Visit visit)
{
    DIR *folder = ::opendir("/proc");
    if (folder == nullptr)
        return;
    while (const dirent *entry = ::readdir(folder)) {
        const int pid = std::atoi(entry->d_name);
        if (pid > 0)
            visit(pid);
    }
    ::closedir(folder);
}

std::uint64_t kilobytes(const std::string &status, const char *name)
{
    const std::size_t at = status.find(name);
    return at == std::string::npos
        ? 0
        : std::strtoull(status.c_str() + at + std::strlen(name), nullptr, 10) * 1024;
}

} // namespace

ProcessTable ProcessTable::read()
{
    ProcessTable table;
    forEachProcess([&table](int pid) {
        const std::string stat = readFile("/proc/" + std::to_string(pid) + "/stat");
        const std::size_t end = stat.rfind(')'); // the name before it may hold anything
        if (end == std::string::npos)
            return;
        Entry entry;
        unsigned long long user = 0, system = 0, childUser = 0, childSystem = 0;
        const int found = std::sscanf(stat.c_str() + end + 1,
                                      " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
                                      &entry.parent, &user, &system, &childUser, &childSystem);
        if (found != 5)
            return;
        entry.ticks = user + system + childUser + childSystem;
        table.m_entries[pid] = entry;
        table.m_children.emplace(entry.parent, pid);
    });
    return table;
}

ProcessUsage ProcessTable::usageOf(int pid) const
{
    ProcessUsage sum;
    const auto found = m_entries.find(pid);
    if (found == m_entries.end())
        return sum;
    static const auto nanosecondsPerTick
        = 1'000'000'000ULL / static_cast<unsigned long long>(::sysconf(_SC_CLK_TCK));
    sum.cpuNanoseconds = found->second.ticks * nanosecondsPerTick;
    const std::string status = readFile("/proc/" + std::to_string(pid) + "/status");
    sum.residentBytes = kilobytes(status, "VmRSS:");
    sum.anonymousBytes = kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:");
    const auto [first, last] = m_children.equal_range(pid);
    for (auto child = first; child != last; ++child) {
        const ProcessUsage below = usageOf(child->second);
        sum.cpuNanoseconds += below.cpuNanoseconds;
        sum.residentBytes += below.residentBytes;
        sum.anonymousBytes += below.anonymousBytes;
    }
    return sum;
}

std::vector<int> processesWith(const char *name, const char *value)
{
    std::vector<int> pids;
    const std::string wanted = std::string(name) + "=" + value;
    forEachProcess([&](int pid) {
        const std::string environment = readFile("/proc/" + std::to_string(pid) + "/environ");
        for (std::size_t at = 0; at < environment.size();) {
            const std::size_t end = std::min(environment.find('\0', at), environment.size());
            if (environment.compare(at, end - at, wanted) == 0) {
                pids.push_back(pid);
                return;
            }
            at = end + 1;
        }
    });
    return pids;
}

} // namespace cluster::local
