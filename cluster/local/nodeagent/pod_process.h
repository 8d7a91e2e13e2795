#pragma once

#include "cluster/local/nodeagent/claim_checkpoint.h"
#include "cluster/local/nodeagent/container_runner.h"
#include "cluster/local/nodeagent/pod_metadata.h"
#include "cluster/local/nodeagent/pod_runner.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <string>
#include <vector>

namespace cluster::local {

/// The part of a pod that simulated ones do without.
struct PodRunner::Process
{
    Process(boost::asio::io_context &io, std::size_t containers)
        : timer(io), refresh(io), runners(containers), logs(containers), previousLogs(containers),
          imageTries(containers)
    {
    }

    void resize(std::size_t containers)
    {
        runners.resize(containers);
        logs.resize(containers);
        previousLogs.resize(containers);
        imageTries.resize(containers);
    }

    [[nodiscard]] bool hasAny() const
    {
        return std::any_of(runners.begin(), runners.end(),
                           [](const auto &runner) { return runner != nullptr; });
    }

    boost::asio::steady_timer timer; ///< of what is planned
    boost::asio::steady_timer refresh; ///< of Secrets, ConfigMaps and tokens in volumes
    std::vector<std::shared_ptr<ContainerRunner>> runners;
    std::vector<std::shared_ptr<ContainerLog>> logs, previousLogs;
    std::vector<int> imageTries;
    VolumePaths volumes;
    std::vector<ClaimedDevice> devices;
    PodMetadataAccess metadata;
    std::shared_ptr<std::map<std::string, ServiceToken>> tokens
        = std::make_shared<std::map<std::string, ServiceToken>>();
    std::string hosts; ///< as last written
    std::map<std::string, std::string> annotations; ///< to be written with the next status
};

} // namespace cluster::local
