#include "cluster/local/runtimes/ray/ray_jobs.h"

#include "cluster/local/runtimes/ray/python_repr.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

struct RayJobs::Job
{
    std::string id, entrypoint, status = "PENDING";
    std::string message
        = "Job has not started yet. It may be waiting for the runtime environment to be set up.";
    json metadata, runtimeEnv, errorType, exitCode;
    std::int64_t startMs = 0, endMs = 0;
    std::string log;
    bool isStopped = false;
    std::shared_ptr<RayChild> child;

    [[nodiscard]] bool hasEnded() const { return endMs != 0; }
};

namespace {

constexpr std::size_t mostLog = std::size_t{4} << 20;
constexpr std::size_t mostJobs = 1000;

json textOrNull(const json &request, const char *name)
{
    const auto found = request.find(name);
    return found == request.end() ? json() : *found;
}

} // namespace

RayJobs::RayJobs(boost::asio::io_context &io, RayJobPlace place) : m_io(io), m_place(std::move(place)) {}

RayJobs::~RayJobs()
{
    for (const auto &job : m_jobs) {
        if (job->child)
            job->child->abandon();
    }
}

std::shared_ptr<RayJobs::Job> RayJobs::job(const std::string &id) const
{
    const auto found
        = std::find_if(m_jobs.begin(), m_jobs.end(), [&id](const auto &job) { return job->id == id; });
    return found == m_jobs.end() ? nullptr : *found;
}

Result<std::string> RayJobs::submit(const json &request)
{
    if (!request.is_object() || !request.contains("entrypoint"))
        return fail(ErrorCode::InvalidArgument,
                    "TypeError: JobSubmitRequest.__init__() missing 1 required positional argument: "
                    "'entrypoint'");
    if (!request["entrypoint"].is_string())
        return fail(ErrorCode::InvalidArgument,
                    "TypeError: entrypoint must be a string, got <class '" + pythonType(request["entrypoint"])
                        + "'>");
    const json wanted = textOrNull(request, "submission_id");
    if (!wanted.is_null() && !wanted.is_string())
        return fail(ErrorCode::InvalidArgument,
                    "TypeError: submission_id must be a string if provided, got <class '" + pythonType(wanted)
                        + "'>");
    const auto made = std::make_shared<Job>();
    made->id = wanted.is_string() ? wanted.get<std::string>() : "raysubmit_" + randomHex(16);
    if (job(made->id))
        return fail(ErrorCode::AlreadyExists,
                    "ValueError: Job with submission_id " + made->id
                        + " already exists. Please use a different submission_id.");
    if (m_jobs.size() >= mostJobs) {
        const auto ended
            = std::find_if(m_jobs.begin(), m_jobs.end(), [](const auto &known) { return known->hasEnded(); });
        if (ended == m_jobs.end())
            return fail(ErrorCode::ResourceExhausted, "RuntimeError: too many jobs are running");
        m_jobs.erase(ended);
    }
    made->entrypoint = request["entrypoint"].get<std::string>();
    made->metadata = textOrNull(request, "metadata");
    made->runtimeEnv = textOrNull(request, "runtime_env");
    made->startMs = millisecondsSinceEpoch();
    m_jobs.push_back(made);
    addEvent(*made, "Started a ray job " + made->id + ".");
    run(made);
    return made->id;
}

void RayJobs::run(const std::shared_ptr<Job> &job)
{
    job->log = "Running entrypoint for job " + job->id + ": " + job->entrypoint + "\n";
    if (!m_place.isAllowed) {
        finish(*job, "FAILED",
               "slipway-ray stands in for Ray here and may not run an entrypoint on this machine; start the "
               "local target with --allow-processes to let it");
        return;
    }
    std::vector<std::string> environment = m_place.environment;
    const json variables
        = job->runtimeEnv.is_object() ? job->runtimeEnv.value("env_vars", json::object()) : json::object();
    if (variables.is_object()) {
        for (const auto &[name, value] : variables.items()) {
            if (value.is_string())
                environment.push_back(name + "=" + value.get<std::string>());
        }
    }
    RayChildHandlers handlers;
    handlers.onOutput = [job](std::string_view text) {
        job->log.append(text.substr(0, mostLog - std::min(mostLog, job->log.size())));
    };
    handlers.onEnd = [this, weak = std::weak_ptr(job)](int code) {
        const auto ended = weak.lock();
        if (!ended)
            return;
        ended->child.reset();
        if (ended->isStopped) {
            finish(*ended, "STOPPED", "Job was intentionally stopped.");
        } else if (code == 0) {
            ended->exitCode = 0;
            finish(*ended, "SUCCEEDED", "Job finished successfully.");
        } else {
            ended->exitCode = code;
            ended->errorType = "JOB_ENTRYPOINT_COMMAND_ERROR";
            constexpr std::size_t shown = 20'000;
            const std::string &log = ended->log;
            finish(*ended, "FAILED",
                   "Job entrypoint command failed with exit code " + std::to_string(code)
                       + ", last available logs (truncated to 20,000 chars):\n"
                       + log.substr(log.size() - std::min(shown, log.size())));
        }
    };
    auto child
        = RayChild::start(m_io, {"/bin/bash", "-c", job->entrypoint}, environment, std::move(handlers));
    if (!child) {
        finish(*job, "FAILED", child.error().message);
        return;
    }
    job->child = *child;
    job->status = "RUNNING";
    job->message = "Job is currently running.";
}

void RayJobs::finish(Job &job, const std::string &status, const std::string &message)
{
    job.status = status;
    job.message = message;
    job.endMs = millisecondsSinceEpoch();
    addEvent(job, "Completed a ray job " + job.id + " with a status " + status + ".");
}

void RayJobs::addEvent(const Job &job, const std::string &message)
{
    RayEvent event;
    event.id = randomHex(36);
    event.message = message;
    event.seconds = millisecondsSinceEpoch() / 1000;
    event.submissionId = job.id;
    m_events.push_back(std::move(event));
    constexpr std::size_t most = 1000;
    if (m_events.size() > most)
        m_events.pop_front();
}

json RayJobs::details(const Job &job) const
{
    const bool hasStarted = job.status != "PENDING" && m_place.isAllowed;
    return {
        {"type", "SUBMISSION"},
        {"job_id", nullptr},
        {"submission_id", job.id},
        {"driver_info", nullptr},
        {"status", job.status},
        {"entrypoint", job.entrypoint},
        {"message", job.message},
        {"error_type", job.errorType},
        {"start_time", job.startMs},
        {"end_time", job.hasEnded() ? json(job.endMs) : json()},
        {"metadata", job.metadata},
        {"runtime_env", job.runtimeEnv},
        {"driver_agent_http_address",
         hasStarted ? json("http://" + m_place.nodeIp + ":" + std::to_string(m_place.agentPort)) : json()},
        {"driver_node_id", hasStarted ? json(m_place.nodeId) : json()},
        {"driver_exit_code", job.exitCode}};
}

json RayJobs::list() const
{
    json all = json::array();
    for (const auto &job : m_jobs)
        all.push_back(details(*job));
    return all;
}

json RayJobs::find(const std::string &id) const
{
    const auto found = job(id);
    return found ? details(*found) : json();
}

std::optional<std::string> RayJobs::logs(const std::string &id) const
{
    const auto found = job(id);
    return found ? std::optional(found->log) : std::nullopt;
}

std::optional<bool> RayJobs::stop(const std::string &id)
{
    const auto found = job(id);
    if (!found)
        return std::nullopt;
    if (found->hasEnded() || !found->child)
        return false;
    found->isStopped = true;
    found->child->terminate();
    return true;
}

Status RayJobs::remove(const std::string &id)
{
    const auto found = job(id);
    if (!found)
        return fail(ErrorCode::NotFound, "Job " + id + " does not exist");
    if (!found->hasEnded())
        return fail(ErrorCode::FailedPrecondition,
                    "RuntimeError: Attempted to delete job '" + id + "', but it is in a non-terminal state "
                        + found->status + ".");
    std::erase(m_jobs, found);
    return {};
}

} // namespace cluster::local
