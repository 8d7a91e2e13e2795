#include "cluster/local/metrics/managed_prometheus.h"

#include "cluster/local/files/whole_files.h"
#include "cluster/local/metrics/monitored_cluster.h"
#include "cluster/local/metrics/prometheus_process.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace cluster::local {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::minutes kIdle{10}; // a Prometheus that nothing is collected for lives so long
constexpr std::chrono::milliseconds kSettle{200}; // objects come in groups: one reload for all

} // namespace

class ManagedPrometheus::Private
{
public:
    explicit Private(ManagedPrometheusOptions setup) : options(std::move(setup))
    {
        worker = std::jthread([this] { work(); });
    }

    struct Project
    {
        std::set<std::shared_ptr<MonitoredCluster>> clusters;
        std::shared_ptr<PrometheusProcess> process;
        json wanted; ///< what it was last told to collect, good or not
        Clock::time_point lastAsked = Clock::time_point::min();
        std::string problem; ///< why there is no process
        std::uint64_t tries = 0; ///< counts starts, also those that failed
        bool isDirty = false;
    };

    /// The scrapes of one PodMonitoring.
    struct Part
    {
        std::shared_ptr<MonitoredCluster> cluster;
        std::string key;
        json scrapes;
        std::string problem; ///< why there are none
    };
    /// All that a project's Prometheus is to collect.
    struct Plan
    {
        json wanted = json::array(); ///< of what it was made
        json kubelets = json::array();
        std::vector<Part> parts;
    };

    void work();
    void update(const std::string &name);
    [[nodiscard]] static Plan planFor(const std::set<std::shared_ptr<MonitoredCluster>> &clusters);
    void load(PrometheusProcess &process, Plan &plan) const;
    Result<std::shared_ptr<PrometheusProcess>> startFor(const std::string &name, const json &scrapes);
    void change(const std::string &name);
    [[nodiscard]] Result<std::shared_ptr<PrometheusProcess>> running(const std::string &name);

    const ManagedPrometheusOptions options;
    CancelSource stopping;
    mutable std::mutex mutex; ///< guards projects; never held during a call
    std::condition_variable changed;
    std::map<std::string, Project> projects;
    std::jthread worker; ///< last
};

void ManagedPrometheus::Private::change(const std::string &name)
{
    const std::scoped_lock lock(mutex);
    projects[name].isDirty = true;
    changed.notify_all();
}

void ManagedPrometheus::Private::work()
{
    while (!stopping.stop_requested()) {
        std::set<std::string> todo;
        {
            std::unique_lock lock(mutex);
            const auto hasWork = [&] {
                return stopping.stop_requested()
                    || std::any_of(projects.begin(), projects.end(),
                                   [](const auto &entry) { return entry.second.isDirty; });
            };
            const bool isChange = changed.wait_for(lock, kIdle / 10, hasWork);
            for (auto &[name, project] : projects) {
                if (!isChange || std::exchange(project.isDirty, false))
                    todo.insert(name); // without a change: to see who is idle
            }
        }
        for (const std::string &name : todo) {
            if (!stopping.stop_requested())
                update(name);
        }
        std::unique_lock lock(mutex);
        changed.wait_for(lock, kSettle, [&] { return stopping.stop_requested(); });
    }
}

Result<std::shared_ptr<PrometheusProcess>> ManagedPrometheus::Private::startFor(const std::string &name,
                                                                                const json &scrapes)
{
    Result<std::unique_ptr<PrometheusProcess>> started = fail(ErrorCode::FailedPrecondition, options.missing);
    if (!options.program.empty()) {
        PrometheusSetup setup;
        setup.program = options.program;
        setup.folder = options.folder / name;
        setup.onEvent = [log = options.log, name](const ProcessEvent &event) {
            log("metrics of project " + name + ": " + event.process
                + (event.message.empty() ? "" : ": " + event.message));
        };
        started = PrometheusProcess::start(std::move(setup), scrapes, stopping.get_token());
    }
    const std::scoped_lock lock(mutex);
    Project &project = projects[name];
    ++project.tries;
    project.problem = started ? std::string() : started.error().message;
    changed.notify_all();
    if (!started)
        return tl::unexpected(started.error());
    project.process = std::move(*started);
    return project.process;
}

ManagedPrometheus::Private::Plan
ManagedPrometheus::Private::planFor(const std::set<std::shared_ptr<MonitoredCluster>> &clusters)
{
    Plan plan;
    for (const auto &cluster : clusters) {
        const json kubelets = kubeletScrapeConfigs(cluster->facts());
        plan.kubelets.insert(plan.kubelets.end(), kubelets.begin(), kubelets.end());
        for (const auto &[key, monitoring] : cluster->monitorings()) {
            auto scrapes = scrapeConfigsOf(cluster->facts(), monitoring);
            plan.wanted.push_back({cluster->facts().id, key, monitoring.value("spec", json())});
            plan.parts.push_back({cluster, key, scrapes ? std::move(*scrapes) : json::array(),
                                  scrapes ? std::string() : scrapes.error().message});
        }
    }
    plan.wanted.push_back(plan.kubelets);
    return plan;
}

/// All at once. Only if Prometheus refuses that (a regular expression that is none, say) one after the other,
/// to know which it is.
void ManagedPrometheus::Private::load(PrometheusProcess &process, Plan &plan) const
{
    json all = plan.kubelets;
    for (const Part &part : plan.parts)
        all.insert(all.end(), part.scrapes.begin(), part.scrapes.end());
    const Status taken = process.reload(all, stopping.get_token());
    if (taken || taken.error().code != ErrorCode::InvalidArgument) {
        if (!taken)
            options.log("Prometheus was not told what to collect: " + taken.error().message);
        return;
    }
    json good = plan.kubelets;
    for (Part &part : plan.parts) {
        json more = good;
        more.insert(more.end(), part.scrapes.begin(), part.scrapes.end());
        const Status fits = process.reload(more, stopping.get_token());
        if (fits)
            good = std::move(more);
        else
            part.problem = fits.error().message;
    }
    (void)process.reload(good, stopping.get_token()); // the file must be good when it is started again
}

void ManagedPrometheus::Private::update(const std::string &name)
{
    std::set<std::shared_ptr<MonitoredCluster>> clusters;
    std::shared_ptr<PrometheusProcess> process;
    bool isAsked = false;
    json before;
    {
        const std::scoped_lock lock(mutex);
        const Project &project = projects[name];
        clusters = project.clusters;
        process = project.process;
        before = project.wanted;
        isAsked = project.lastAsked != Clock::time_point::min() && Clock::now() - project.lastAsked < kIdle;
    }
    Plan plan = planFor(clusters);
    if (plan.parts.empty() && !isAsked) {
        for (const auto &cluster : clusters)
            cluster->forgetTargets();
        const std::scoped_lock lock(mutex);
        projects[name].process.reset(); // ends with `process`, when the lock is open again
        return;
    }
    for (const auto &cluster : clusters) {
        const Status written = options.program.empty() ? Status{} : cluster->writeTargets();
        if (!written)
            options.log("metrics of project " + name + ": " + written.error().message);
    }
    if (process && before == plan.wanted)
        return;
    if (!process) {
        // With what surely is right: a wrong configuration would keep it from starting.
        if (auto started = startFor(name, plan.kubelets)) {
            process = std::move(*started);
        } else {
            options.log("metrics of project " + name + ": " + started.error().message);
            for (Part &part : plan.parts)
                part.problem = started.error().message;
        }
    }
    if (process)
        load(*process, plan);
    for (const Part &part : plan.parts)
        part.cluster->report(part.key, part.problem);
    const std::scoped_lock lock(mutex);
    projects[name].wanted = std::move(plan.wanted);
}

/// Started where it takes that.
Result<std::shared_ptr<PrometheusProcess>> ManagedPrometheus::Private::running(const std::string &name)
{
    std::unique_lock lock(mutex);
    Project &project = projects[name];
    project.lastAsked = Clock::now();
    if (project.process)
        return project.process;
    const std::uint64_t before = project.tries;
    project.isDirty = true;
    changed.notify_all();
    changed.wait(lock,
                 [&] { return stopping.stop_requested() || project.process || project.tries != before; });
    if (stopping.stop_requested())
        return fail(ErrorCode::Cancelled, "the local target is stopping");
    if (!project.process)
        return fail(options.program.empty() ? ErrorCode::FailedPrecondition : ErrorCode::Unavailable,
                    project.problem);
    return project.process;
}

ManagedPrometheus::ManagedPrometheus(ManagedPrometheusOptions options)
    : d(std::make_unique<Private>(std::move(options)))
{
}

ManagedPrometheus::~ManagedPrometheus()
{
    stop();
}

Result<std::shared_ptr<void>> ManagedPrometheus::collect(const MonitoredEndpoint &endpoint)
{
    const fs::path folder = d->options.folder / endpoint.project;
    ScrapedCluster facts{endpoint.id,
                         endpoint.project,
                         endpoint.location,
                         endpoint.name,
                         endpoint.apiUrl,
                         endpoint.caFile,
                         folder / (endpoint.id.substr(0, 16) + ".token"),
                         folder / "targets"};
    if (Status made = makePrivateFolder(facts.targetsFolder); !made)
        return tl::unexpected(made.error());
    if (Status written = writeWholeFile(facts.tokenFile, endpoint.token); !written)
        return tl::unexpected(written.error());
    const fs::path tokenFile = facts.tokenFile;
    auto cluster = std::make_shared<MonitoredCluster>(
        std::move(facts),
        KubeEndpoint{endpoint.apiUrl, endpoint.caFile.string(), endpoint.token, {}, {}, "gmp-operator"});
    {
        const std::scoped_lock lock(d->mutex);
        d->projects[endpoint.project].clusters.insert(cluster);
    }
    const Status started
        = cluster->start([priv = d.get(), project = endpoint.project] { priv->change(project); });
    std::shared_ptr<void> handle(nullptr,
                                 [priv = d.get(), cluster, project = endpoint.project, tokenFile](void *) {
                                     cluster->stop();
                                     {
                                         const std::scoped_lock lock(priv->mutex);
                                         priv->projects[project].clusters.erase(cluster);
                                     }
                                     priv->change(project);
                                     std::error_code error;
                                     fs::remove(tokenFile, error);
                                 });
    if (!started)
        return tl::unexpected(started.error());
    return handle;
}

Result<MetricAnswer> ManagedPrometheus::ask(const std::string &project, const MetricQuestion &question)
{
    const auto process = d->running(project);
    if (!process)
        return tl::unexpected(process.error());
    HttpRequest request;
    request.method = question.method;
    request.body = question.body;
    if (!question.contentType.empty())
        request.headers.push_back({"Content-Type", question.contentType});
    const std::string target
        = "/api/v1/" + question.path + (question.parameters.empty() ? "" : "?" + question.parameters);
    const auto answer = (*process)->ask(std::move(request), target, d->stopping.get_token());
    if (!answer) {
        if (answer.error().code != ErrorCode::Cancelled) {
            // Its port may be somebody else's by now: the next question gets a new one.
            const std::scoped_lock lock(d->mutex);
            if (d->projects[project].process == *process)
                d->projects[project].process.reset();
            d->projects[project].isDirty = true;
            d->changed.notify_all();
        }
        return tl::unexpected(answer.error());
    }
    return MetricAnswer{answer->status,
                        std::string(answer->header("content-type").value_or("application/json")),
                        answer->body};
}

void ManagedPrometheus::stop()
{
    {
        const std::scoped_lock lock(d->mutex);
        d->stopping.request_stop();
        d->changed.notify_all();
    }
    if (d->worker.joinable())
        d->worker.join();
    std::vector<std::shared_ptr<PrometheusProcess>> ended;
    const std::scoped_lock lock(d->mutex);
    for (auto &[name, project] : d->projects)
        ended.push_back(std::exchange(project.process, nullptr));
}

std::vector<ProcessState> ManagedPrometheus::processes() const
{
    std::vector<std::shared_ptr<PrometheusProcess>> running;
    {
        const std::scoped_lock lock(d->mutex);
        for (const auto &[name, project] : d->projects) {
            if (project.process)
                running.push_back(project.process);
        }
    }
    std::vector<ProcessState> states;
    for (const auto &process : running)
        states.push_back(process->state());
    return states;
}

} // namespace cluster::local
