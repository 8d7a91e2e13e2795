#pragma once

#include "cluster/local/nodeagent/container_limits.h"
#include "cluster/local/nodeagent/device_claims.h"
#include "cluster/local/nodeagent/event_sink.h"
#include "cluster/local/nodeagent/image_table.h"
#include "cluster/local/nodeagent/launched_process.h"
#include "cluster/local/nodeagent/node_agent.h"
#include "cluster/local/nodeagent/pod_addresses.h"
#include "cluster/local/nodeagent/pod_plan.h"
#include "cluster/local/nodeagent/pod_writer.h"
#include "cluster/local/nodeagent/work_pool.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cluster::local {

/// What all pods of an agent share. Lives longer than each of them.
struct AgentContext
{
    boost::asio::io_context &io;
    KubeClient &client;
    const NodeAgentOptions &options;
    const ImageTable &images;
    PodWriter &writer;
    EventSink &events;
    PodAddresses &addresses;
    DeviceClaims &claims;
    WorkPool &work; ///< for what blocks, writes of statuses apart
    WorkPool &probes; ///< for probes that block
    Isolation isolation;
    std::filesystem::path initProgram, engineProgram, rayProgram;
    const CgroupTree *cgroups; ///< null: limits are kept without them
    std::string groupSecret; ///< what the tokens of engines that compute together are made of
    std::vector<int> processors; ///< of this machine, that we may use
    BackoffRules rules;
    /// Node object by name; null where it isn't known (yet).
    std::function<std::shared_ptr<const nlohmann::json>(const std::string &)> node;
    /// All of a pod is gone; it may be dropped.
    std::function<void(const std::string &uid)> onGone;

    /// A wait by the agent's time scale.
    [[nodiscard]] std::chrono::milliseconds scaled(double seconds) const
    {
        return std::chrono::milliseconds(static_cast<long>(seconds * 1000 / options.timeScale));
    }
};

} // namespace cluster::local
