#pragma once

#include "cluster/local/kubelet/remote_command.h"
#include "cluster/local/kubelet/resize_reader.h"
#include "cluster/local/nodeagent/pod_access.h"
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace cluster::local {

/// Joins a process of a container with the client of an exec or attach, until the process has ended and all
/// its output was delivered, or the client has gone (then the process is let go: see ContainerProcess).
class ExecSession : public std::enable_shared_from_this<ExecSession>
{
public:
    ExecSession(const boost::asio::any_io_executor &executor, std::unique_ptr<ContainerProcess> process,
                RemoteCommand remote);

    void start();
    void stop(); ///< The connection has gone.

private:
    void startOutput(int descriptor, const std::shared_ptr<ByteStream> &to);
    void startInput();
    void readSizes();
    void outputEnded();
    void endIfDone();
    void tellEnd();

    boost::asio::any_io_executor m_executor;
    std::unique_ptr<ContainerProcess> m_process;
    RemoteCommand m_remote;
    std::shared_ptr<ByteStream> m_input; ///< Our end of the process's standard input.
    std::vector<std::shared_ptr<ByteStream>> m_outputs;
    boost::asio::steady_timer m_grace;
    ResizeReader m_sizes;
    std::string m_sizeBuffer;
    int m_openOutputs = 0;
    std::optional<ProcessEnd> m_end;
    bool m_isOver = false;
};

} // namespace cluster::local
