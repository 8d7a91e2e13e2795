#pragma once

#include "cluster/base/result.h"
#include "cluster/local/runtimes/ray/child_process.h"
#include "cluster/local/runtimes/ray/ray_values.h"

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

/// Where jobs run: always the head.
struct RayJobPlace
{
    bool isAllowed = false; ///< entrypoints may run on this machine
    std::string nodeId, nodeIp;
    int agentPort = 0;
    std::vector<std::string> environment; ///< "NAME=value"
};

/// A line of the cluster's events.
struct RayEvent
{
    std::string id, source = "JOBS", severity = "INFO", message;
    std::int64_t seconds = 0; ///< since the epoch
    std::string submissionId;
};

/// Submitted jobs: an entrypoint is a shell's command line, run on the head. Where this machine's user has
/// not allowed that, a job is accepted and fails with what to do. One thread, the io_context's.
class RayJobs
{
public:
    RayJobs(boost::asio::io_context &io, RayJobPlace place);
    ~RayJobs();
    RayJobs(const RayJobs &) = delete;
    RayJobs &operator=(const RayJobs &) = delete;

    /// Returns its submission id. Errors: InvalidArgument (entrypoint), AlreadyExists; with Python's last
    /// line.
    Result<std::string> submit(const nlohmann::json &request);
    /// The newest last. Recorded shape of GET /api/jobs/.
    [[nodiscard]] nlohmann::json list() const;
    /// Null: unknown.
    [[nodiscard]] nlohmann::json find(const std::string &id) const;
    [[nodiscard]] std::optional<std::string> logs(const std::string &id) const;
    /// False: it has ended already. Nothing: unknown.
    std::optional<bool> stop(const std::string &id);
    /// Errors: NotFound, FailedPrecondition (it still runs).
    Status remove(const std::string &id);

    [[nodiscard]] const std::deque<RayEvent> &events() const { return m_events; }

private:
    struct Job;
    void run(const std::shared_ptr<Job> &job);
    void finish(Job &job, const std::string &status, const std::string &message);
    void addEvent(const Job &job, const std::string &message);
    [[nodiscard]] nlohmann::json details(const Job &job) const;
    [[nodiscard]] std::shared_ptr<Job> job(const std::string &id) const;

    boost::asio::io_context &m_io;
    RayJobPlace m_place;
    std::vector<std::shared_ptr<Job>> m_jobs;
    std::deque<RayEvent> m_events;
};

} // namespace cluster::local
