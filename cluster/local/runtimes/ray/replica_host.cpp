#include "cluster/local/runtimes/ray/replica_host.h"

#include "cluster/local/runtimes/ray/imagine_replicas.h"
#include "cluster/local/runtimes/ray/llm_ingress.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace cluster::local {

ReplicaHost::ReplicaHost(boost::asio::io_context &io, std::string address, EngineProgram engine,
                         ReplicaHostHandlers handlers)
    : m_io(io), m_address(std::move(address)), m_engine(std::move(engine)), m_handlers(std::move(handlers))
{
}

ReplicaHost::~ReplicaHost()
{
    *m_isAlive = false;
}

Result<std::unique_ptr<HostedReplica>> ReplicaHost::make(const ServeReplicaSpec &spec)
{
    HostedHandlers handlers;
    handlers.onReady = [this, alive = m_isAlive, id = spec.id](unsigned short port, int pid) {
        if (!*alive)
            return;
        if (const auto found = m_replicas.find(id); found != m_replicas.end())
            found->second.hosted.port = port;
        m_handlers.onReady({id, m_address, port, pid});
    };
    handlers.onFailed = [this, alive = m_isAlive, id = spec.id](const std::string &error) {
        if (*alive)
            m_handlers.onFailed(id, error);
    };
    switch (spec.role) {
    case ServeRole::ImagineIngress:
        return imagineIngress(m_io, m_address, spec, std::move(handlers));
    case ServeRole::ImagineModel:
        return imagineModel(m_io, m_address, spec, std::move(handlers));
    case ServeRole::LlmIngress:
        return llmIngress(m_io, m_address, spec, std::move(handlers));
    case ServeRole::LlmServer:
        return engineServer(m_io, m_address, m_engine, spec, std::move(handlers));
    case ServeRole::LlmShard:
        return engineShard(m_io, m_address, m_engine, std::move(handlers));
    }
    return fail(ErrorCode::InvalidArgument, "a replica of an unknown role");
}

void ReplicaHost::start(const ServeReplicaSpec &spec)
{
    auto replica = make(spec);
    if (replica) {
        m_replicas[spec.id] = {{spec, 0}, std::move(*replica)};
        return;
    }
    // Not from inside this call: the controller is in the middle of something.
    boost::asio::post(m_io, [this, alive = m_isAlive, id = spec.id, why = replica.error().message] {
        if (*alive)
            m_handlers.onFailed(id, why);
    });
}

void ReplicaHost::stop(const std::string &replica)
{
    const auto found = m_replicas.find(replica);
    if (found == m_replicas.end())
        return;
    // It may be the one that is calling us right now.
    boost::asio::post(m_io, [kept = std::move(found->second.replica)] {});
    m_replicas.erase(found);
}

void ReplicaHost::setPeers(const std::string &replica, const std::vector<ServeTarget> &targets)
{
    if (const auto found = m_replicas.find(replica); found != m_replicas.end())
        found->second.replica->setPeers(targets);
}

void ReplicaHost::stopAll()
{
    m_replicas.clear();
}

ServeTraffic ReplicaHost::traffic() const
{
    ServeTraffic traffic;
    for (const auto &[id, running] : m_replicas)
        running.replica->addTraffic(traffic);
    return traffic;
}

std::vector<ReplicaHost::Hosted> ReplicaHost::hosted() const
{
    std::vector<Hosted> list;
    for (const auto &[id, running] : m_replicas)
        list.push_back(running.hosted);
    return list;
}

} // namespace cluster::local
