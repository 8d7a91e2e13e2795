#pragma once

#include "cluster/base/result.h"
#include "cluster/local/nodeagent/pod_spec.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// A part of the machine's cgroup tree (version 2) in which containers get groups of their own.
class CgroupTree
{
public:
    /// Where this process may make groups with limits of memory and CPU: below its own group or one above it
    /// that belongs to its user (systemd's delegation), or anywhere as root. Nothing where the machine has
    /// none, or version 1 only.
    /// \param root  "/sys/fs/cgroup"  \param ownGroups  text of /proc/self/cgroup
    static std::optional<CgroupTree> find(const std::filesystem::path &root, const std::string &ownGroups,
                                          const std::string &name);

    /// A group with the container's limits, for one run.
    [[nodiscard]] Result<std::filesystem::path> make(const std::string &name,
                                                     const ContainerSpec &container) const;
    /// The kernel has ended a process of the group for want of memory.
    static bool wasOutOfMemory(const std::filesystem::path &group);
    /// Ends what is left in it, and the group.
    static void remove(const std::filesystem::path &group);
    void removeAll() const; ///< groups that an earlier agent has left

private:
    explicit CgroupTree(std::filesystem::path folder) : m_folder(std::move(folder)) {}
    std::filesystem::path m_folder;
};

/// Without cgroups: the processors that a container with a CPU limit may use, as many as the limit rounded
/// up. Empty: all. \param spread  Different for different containers.
std::vector<int> allowedProcessors(double cpuLimit, const std::vector<int> &machine, std::size_t spread);
std::vector<int> machineProcessors();

/// What is enforced of a pod's limits and how, for its annotation; empty: it has none.
std::string limitsText(const PodSpec &pod, bool hasCgroups);

} // namespace cluster::local
