#pragma once

#include "cluster/local/gcp/gcp_server.h"
#include "tests/local/gcp/simulated_host.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace tests {

struct Answer
{
    int status = 0;
    nlohmann::json body;

    [[nodiscard]] std::string message() const; ///< of an error
};

/// A GcpServer behind a listener on a free port, with a thread of its own, asked over HTTP. Where the
/// database is a file, restart() plays a new process.
class GcpFixture
{
public:
    explicit GcpFixture(std::string database = ":memory:", double timeFactor = 1e9);
    ~GcpFixture();

    Answer ask(const std::string &method, const std::string &path, const nlohmann::json &body = nullptr,
               const std::string &token = "secret");
    /// Below /container/v1/projects/my-project/locations/.
    Answer container(const std::string &method, const std::string &path,
                     const nlohmann::json &body = nullptr);
    /// Waits for the operation of an answer and returns it as it ended.
    nlohmann::json finished(const Answer &answer);
    void restart();
    cluster::local::GcpServer &server();

    SimulatedHost host;

private:
    class Running;

    std::string m_database;
    double m_timeFactor;
    std::unique_ptr<Running> m_running;
};

} // namespace tests
