#pragma once

#include "cluster/local/runtimes/ray/engine_replica.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cluster::local {

struct ReplicaHostHandlers
{
    std::function<void(const ServeReplicaReady &ready)> onReady;
    std::function<void(const std::string &replica, const std::string &error)> onFailed;
};

/// The replicas of one node. One thread, the io_context's.
class ReplicaHost
{
public:
    /// \param address  of the node, where replicas listen
    ReplicaHost(boost::asio::io_context &io, std::string address, EngineProgram engine,
                ReplicaHostHandlers handlers);
    ~ReplicaHost();
    ReplicaHost(const ReplicaHost &) = delete;
    ReplicaHost &operator=(const ReplicaHost &) = delete;

    void start(const ServeReplicaSpec &spec);
    void stop(const std::string &replica);
    void setPeers(const std::string &replica, const std::vector<ServeTarget> &targets);
    void stopAll();
    [[nodiscard]] ServeTraffic traffic() const;
    /// What runs here, for the metrics page.
    struct Hosted
    {
        ServeReplicaSpec spec;
        unsigned short port = 0; ///< 0: it is not ready
    };
    [[nodiscard]] std::vector<Hosted> hosted() const;

private:
    [[nodiscard]] Result<std::unique_ptr<HostedReplica>> make(const ServeReplicaSpec &spec);

    boost::asio::io_context &m_io;
    std::string m_address;
    EngineProgram m_engine;
    ReplicaHostHandlers m_handlers;
    struct Running
    {
        Hosted hosted;
        std::shared_ptr<HostedReplica> replica;
    };
    std::map<std::string, Running> m_replicas;
    std::shared_ptr<bool> m_isAlive = std::make_shared<bool>(true);
};

} // namespace cluster::local
