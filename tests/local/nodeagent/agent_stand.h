#pragma once

#include "cluster/local/nodeagent/node_agent.h"
#include "tests/local/support/real_plane.h"

#include <QObject>
#include <QTemporaryDir>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

namespace tests {

/// A node agent on a thread of its own over a real API server, and what tests ask both.
class AgentStand
{
public:
    AgentStand(cluster::KubeClient &client, const std::string &apiUrl, double timeScale);
    ~AgentStand();

    void startAgent();
    /// Without any farewell, as far as one process can play that: containers die, nothing is reported.
    void dropAgent();

    void makeNode(const std::string &name, const nlohmann::json &labels = nlohmann::json::object());
    void makePod(const std::string &name, nlohmann::json spec,
                 nlohmann::json metadata = nlohmann::json::object());
    nlohmann::json pod(const std::string &name);
    /// Waits until `holds` is true of the pod; null at the end of patience.
    nlohmann::json waitFor(const std::string &name, const std::function<bool(const nlohmann::json &)> &holds);
    bool waitGone(const std::string &name);
    bool waitForPhase(const std::string &name, const std::string &phase);
    bool waitReady(const std::string &name);
    /// Text of the log; waits until it holds `text`.
    std::string waitForLog(const std::string &name, const std::string &text,
                           const cluster::local::LogOptions &options = {});
    /// "reason: message (count)" of each event of the pod.
    std::string events(const std::string &name);
    bool waitForEvent(const std::string &name, const std::string &text);
    /// Exit code and output of a command in the container.
    std::pair<int, std::string> exec(const std::string &name, std::vector<std::string> command);

    template<typename Function>
    auto onIo(Function function)
    {
        std::promise<decltype(function(std::declval<cluster::local::NodeAgent &>()))> promise;
        auto future = promise.get_future();
        post([&] { promise.set_value(function(*m_agent)); });
        return future.get();
    }

    [[nodiscard]] std::string folder() const { return m_folder.path().toStdString(); }
    cluster::local::NodeAgentOptions options;

private:
    void post(std::function<void()> function);
    void beat(const std::string &node);

    cluster::KubeClient &m_client;
    QTemporaryDir m_folder;
    boost::asio::io_context m_io;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> m_guard;
    std::thread m_thread;
    std::unique_ptr<cluster::local::NodeAgent> m_agent;
    std::jthread m_heartbeat;
};

/// A control plane, a node "n1" and an agent for one test program: its initTestCase() calls begin(), its
/// cleanupTestCase() end().
class AgentTest : public QObject
{
protected:
    /// Skips the program where the control plane is missing. \param prepare  What is special about this
    /// agent.
    void begin(const std::function<void(AgentStand &)> &prepare = {});
    void end();

    std::unique_ptr<RealPlane> m_plane;
    std::unique_ptr<AgentStand> m_stand;
};

} // namespace tests
