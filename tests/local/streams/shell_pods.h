#pragma once

#include "cluster/local/nodeagent/pod_access.h"
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <map>

/// Pods for tests of the kubelet's API: every container is this machine's own shell, every log a file
/// `<namespace>_<pod>_<container>.log` of one folder, which is over once a file `….ended` lies beside it.
class ShellPods : public cluster::local::PodAccess
{
public:
    ShellPods(boost::asio::io_context &io, std::filesystem::path logs) : m_io(io), m_logs(std::move(logs)) {}

    /// `address` is 127.x. Only pods that were added are there.
    void add(const std::string &nameSpace, const std::string &pod, const std::string &address);

    [[nodiscard]] nlohmann::json pods(const std::string &node) const override;
    cluster::Result<std::unique_ptr<cluster::local::LogReader>>
    openLog(const cluster::local::ContainerRef &ref, const std::string &node,
            const cluster::local::LogOptions &options) override;
    cluster::Result<std::unique_ptr<cluster::local::ContainerProcess>>
    exec(const cluster::local::ContainerRef &ref, const std::string &node,
         const cluster::local::ExecOptions &options) override;
    [[nodiscard]] cluster::Result<std::string> podAddress(const std::string &podNamespace,
                                                          const std::string &pod) const override;
    [[nodiscard]] std::vector<cluster::local::PodUsage> usage(const std::string &node) override;

private:
    boost::asio::io_context &m_io;
    std::filesystem::path m_logs;
    std::map<std::string, std::string> m_addresses; ///< By namespace/pod.
};
