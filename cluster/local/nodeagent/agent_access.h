#pragma once

#include "cluster/local/nodeagent/pod_access.h"
#include "cluster/local/nodeagent/pod_runner.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace cluster::local {

/// The pods of an agent by uid.
using PodRunners = std::map<std::string, std::shared_ptr<PodRunner>>;

/// PodAccess over the agent's pods.
class AgentAccess final : public PodAccess
{
public:
    explicit AgentAccess(const PodRunners &pods) : m_pods(pods) {}

    [[nodiscard]] nlohmann::json pods(const std::string &node) const override;
    Result<std::unique_ptr<LogReader>> openLog(const ContainerRef &ref, const std::string &node,
                                               const LogOptions &options) override;
    Result<std::unique_ptr<ContainerProcess>> exec(const ContainerRef &ref, const std::string &node,
                                                   const ExecOptions &options) override;
    [[nodiscard]] Result<std::string> podAddress(const std::string &podNamespace,
                                                 const std::string &pod) const override;
    [[nodiscard]] std::vector<PodUsage> usage(const std::string &node) override;

private:
    struct Sample
    {
        std::uint64_t cpuNanoseconds = 0;
        std::uint64_t nanocores = 0;
        std::chrono::steady_clock::time_point at;
    };
    Result<std::shared_ptr<PodRunner>> find(const std::string &nameSpace, const std::string &name,
                                            const std::string &node) const;
    static Result<std::size_t> containerOf(const PodRunner &pod, const std::string &name);

    const PodRunners &m_pods;
    std::map<std::string, Sample> m_samples; ///< by containerID
};

} // namespace cluster::local
