#include "cluster/local/nodeagent/container_limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <unistd.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {

constexpr int periodMicroseconds = 100000; ///< of cpu.max, kubelet's

std::string readText(const fs::path &file)
{
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

bool writeText(const fs::path &file, const std::string &text)
{
    std::ofstream stream(file);
    stream << text << std::flush;
    return stream.good();
}

bool hasController(const fs::path &list, const std::string &controller)
{
    std::stringstream words(readText(list));
    for (std::string word; words >> word;) {
        if (word == controller)
            return true;
    }
    return false;
}

/// Groups below it can have limits: they can already, or it can be allowed.
bool canLimit(const fs::path &folder)
{
    if (::access(folder.c_str(), W_OK) != 0)
        return false;
    const fs::path enabled = folder / "cgroup.subtree_control";
    const auto isEnabled = [&] { return hasController(enabled, "memory") && hasController(enabled, "cpu"); };
    // The kernel refuses it to a group that has processes, the root's apart.
    return isEnabled() || (writeText(enabled, "+cpu +memory") && isEnabled());
}

/// Kubernetes' conversion of requests to the kernel's weights.
std::uint64_t weightOf(double cpuRequest)
{
    const double shares = std::clamp(cpuRequest * 1024, 2.0, 262144.0);
    return static_cast<std::uint64_t>(1 + (shares - 2) * 9999 / 262142);
}

} // namespace

std::optional<CgroupTree> CgroupTree::find(const fs::path &root, const std::string &ownGroups,
                                           const std::string &name)
{
    if (!hasController(root / "cgroup.controllers", "memory"))
        return std::nullopt;
    std::stringstream lines(ownGroups);
    std::string own;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("0::/"))
            own = line.substr(4);
    }
    for (fs::path group = own;; group = group.parent_path()) {
        const fs::path parent = group.empty() ? root : root / group;
        std::error_code error;
        const fs::path folder = parent / ("slipway-" + name);
        if (canLimit(parent) && (fs::create_directory(folder, error) || fs::is_directory(folder, error))
            && canLimit(folder))
            return CgroupTree(folder);
        if (group.empty())
            return std::nullopt;
    }
}

Result<fs::path> CgroupTree::make(const std::string &name, const ContainerSpec &container) const
{
    const fs::path group = m_folder / name;
    std::error_code error;
    fs::create_directory(group, error);
    if (error)
        return fail(ErrorCode::Internal, "can't make the cgroup " + group.string() + ": " + error.message());
    bool isSet = true;
    if (container.memoryLimit > 0) {
        isSet = writeText(group / "memory.max", std::to_string(container.memoryLimit));
        // A limit that swap softens is none. Machines without swap don't have the file.
        (void)writeText(group / "memory.swap.max", "0");
        (void)writeText(group / "memory.oom.group", "1"); // all of the container, as kubelet has it
    }
    if (container.cpuLimit > 0) {
        const auto quota = static_cast<long>(std::max(1000.0, container.cpuLimit * periodMicroseconds));
        isSet = isSet
            && writeText(group / "cpu.max", std::to_string(quota) + " " + std::to_string(periodMicroseconds));
    }
    if (container.cpuRequest > 0)
        isSet = isSet && writeText(group / "cpu.weight", std::to_string(weightOf(container.cpuRequest)));
    if (isSet)
        return group;
    remove(group);
    return fail(ErrorCode::Internal, "can't set the limits of cgroup " + group.string());
}

bool CgroupTree::wasOutOfMemory(const fs::path &group)
{
    std::stringstream words(readText(group / "memory.events"));
    std::string key;
    long count = 0;
    while (words >> key >> count) {
        if (key == "oom_kill" && count > 0)
            return true;
    }
    return false;
}

void CgroupTree::remove(const fs::path &group)
{
    std::error_code error;
    if (fs::exists(group / "cgroup.kill", error))
        (void)writeText(group / "cgroup.kill", "1");
    ::rmdir(group.c_str()); // what is still ending in it keeps it: removeAll() of the next agent
}

void CgroupTree::removeAll() const
{
    std::error_code error;
    for (const fs::directory_entry &entry : fs::directory_iterator(m_folder, error)) {
        if (entry.is_directory(error))
            remove(entry.path());
    }
}

std::vector<int> machineProcessors()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> processors;
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
        return processors;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set))
            processors.push_back(i);
    }
    return processors;
}

std::vector<int> allowedProcessors(double cpuLimit, const std::vector<int> &machine, std::size_t spread)
{
    const auto wanted = static_cast<std::size_t>(std::ceil(std::max(0.0, cpuLimit)));
    if (wanted == 0 || wanted >= machine.size())
        return {};
    std::vector<int> allowed;
    for (std::size_t i = 0; i < wanted; ++i)
        allowed.push_back(machine[(spread + i) % machine.size()]);
    std::sort(allowed.begin(), allowed.end());
    return allowed;
}

std::string limitsText(const PodSpec &pod, bool hasCgroups)
{
    const auto any
        = [&pod](auto has) { return std::any_of(pod.containers.begin(), pod.containers.end(), has); };
    std::string text;
    if (any([](const ContainerSpec &container) { return container.memoryLimit > 0; }))
        text += hasCgroups ? "memory: cgroup" : "memory: watched, killed about a second after it is over";
    if (any([](const ContainerSpec &container) { return container.cpuLimit > 0; })) {
        text += text.empty() ? "" : "; ";
        text += hasCgroups ? "cpu: cgroup" : "cpu: whole processors";
    }
    return text.empty() ? text : text + "; ephemeral-storage: not enforced";
}

} // namespace cluster::local
