#pragma once

#include "cluster/httpd/server_exchange.h"
#include "cluster/local/kubelet/kubelet_server.h"
#include "cluster/local/kubelet/port_forward.h"
#include "cluster/local/kubelet/remote_command.h"
#include "cluster/local/nodeagent/pod_access.h"
#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <vector>

namespace cluster::local {

/// The calls that leave HTTP: exec, attach and port-forward, over SPDY/3.1 or a WebSocket as the client asks.
class KubeletSessions : public std::enable_shared_from_this<KubeletSessions>
{
public:
    KubeletSessions(boost::asio::any_io_executor executor, const KubeletServerOptions &options,
                    PodAccess &pods);

    void command(const std::shared_ptr<ServerExchange> &exchange, const ContainerRef &ref,
                 const std::string &node, bool isAttach);
    void portForward(const std::shared_ptr<ServerExchange> &exchange, const std::string &nameSpace,
                     const std::string &pod);
    void closeAll();

private:
    using Close = std::function<void()>;

    void commandBySpdy(const std::shared_ptr<ServerExchange> &exchange,
                       std::unique_ptr<ContainerProcess> process, const ExecOptions &exec,
                       const std::string &protocol);
    void commandBySocket(const std::shared_ptr<ServerExchange> &exchange,
                         std::unique_ptr<ContainerProcess> process, const ExecOptions &exec,
                         const std::string &protocol);
    void startCommand(std::uint64_t id, std::unique_ptr<ContainerProcess> process, RemoteCommand remote,
                      const std::shared_ptr<void> &carrier, const Close &closeCarrier);
    void forwardBySpdy(const std::shared_ptr<ServerExchange> &exchange, PortForwardOptions forward);
    void forwardBySocket(const std::shared_ptr<ServerExchange> &exchange, PortForwardOptions forward);
    void startForward(std::unique_ptr<ByteStream> carrier, PortForwardOptions forward);
    [[nodiscard]] std::function<void()> endOf(std::uint64_t id);
    /// A process whose client has not yet got its upgrade; closeAll() ends it.
    [[nodiscard]] std::shared_ptr<std::unique_ptr<ContainerProcess>>
    keep(std::unique_ptr<ContainerProcess> process);
    [[nodiscard]] bool refuseIfFull(ServerExchange &exchange) const;

    boost::asio::any_io_executor m_executor;
    const KubeletServerOptions &m_options;
    PodAccess &m_pods;
    std::map<std::uint64_t, Close> m_open;
    std::vector<std::weak_ptr<std::unique_ptr<ContainerProcess>>> m_starting;
    std::uint64_t m_next = 0;
    bool m_isClosed = false;
};

/// The answer that kubelet gives for an error: its text, with the status that the apiserver passes on.
void replyError(ServerExchange &exchange, const Error &error);

} // namespace cluster::local
