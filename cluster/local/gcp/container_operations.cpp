#include "cluster/local/gcp/container_operations.h"

#include "cluster/local/gcp/cluster_json.h"
#include "cluster/local/gcp/operation_progress.h"
#include "cluster/local/gcp/wire_values.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace cluster::local {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kThreads = 8; // operations of so many clusters at a time; others wait
constexpr auto kKept = std::chrono::hours(24 * 14);

} // namespace

class ContainerOperations::Threads
{
public:
    boost::asio::thread_pool pool{kThreads};
};

ContainerOperations::ContainerOperations(GcpContext &context, ContainerStore &store, ClusterHost &host)
    : m_context(context), m_store(store), m_work(context, host), m_threads(std::make_unique<Threads>())
{
}

ContainerOperations::~ContainerOperations()
{
    stop();
}

OperationRecord ContainerOperations::make(const std::string &type, const ClusterKey &cluster,
                                          const std::string &pool, const std::string &projectNumber) const
{
    OperationRecord operation;
    operation.id = "operation-" + std::to_string(millisecondsOf(m_context.now())) + "-" + randomUuid();
    operation.cluster = cluster;
    operation.type = type;
    operation.pool = pool;
    const std::string target = clusterLink(cluster, projectNumber);
    const std::string base = target.substr(0, target.find("/clusters/"));
    operation.wire = {{"name", operation.id},
                      {"zone", cluster.location},
                      {"location", cluster.location},
                      {"operationType", type},
                      {"status", "PENDING"},
                      {"startTime", m_context.timestamp()},
                      {"selfLink", base + "/operations/" + operation.id},
                      {"targetLink", target + (pool.empty() ? "" : "/nodePools/" + pool)}};
    return operation;
}

void ContainerOperations::run(const OperationRecord &operation)
{
    boost::asio::post(m_threads->pool, [this, operation] { execute(operation, false); });
}

void ContainerOperations::resume()
{
    m_store.sweep(rfc3339(m_context.now() - kKept, 9));
    const auto all = m_store.operations("-", "-");
    if (!all)
        return;
    for (const OperationRecord &operation : *all) {
        if (!operation.isDone())
            boost::asio::post(m_threads->pool, [this, operation] { execute(operation, true); });
    }
}

void ContainerOperations::stop()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stopping.request_stop();
    }
    m_stopped.notify_all();
    m_threads->pool.join();
}

bool ContainerOperations::sleepUntil(Clock::time_point time)
{
    std::unique_lock lock(m_mutex);
    m_stopped.wait_until(lock, time, [this] { return m_stopping.stop_requested(); });
    return !m_stopping.stop_requested();
}

void ContainerOperations::stage(OperationRecord &operation, double done, std::string_view words)
{
    // A stage that can't be written (a full disk) keeps nobody from working.
    if (showProgress(operation, done, words))
        static_cast<void>(m_store.writeOperation(operation));
}

/// Until it has taken as long as Google would. False: this process ends first.
bool ContainerOperations::waitUntil(OperationRecord &operation, Clock::time_point start,
                                    std::chrono::milliseconds planned)
{
    constexpr int kLooks = 10;
    for (int i = 1; i <= kLooks; ++i) {
        const auto look = start + planned * i / kLooks;
        if (look <= Clock::now())
            continue;
        stage(operation, static_cast<double>(i - 1) / kLooks, {});
        if (!sleepUntil(look))
            return false;
    }
    return !m_stopping.stop_requested();
}

void ContainerOperations::execute(OperationRecord operation, bool isResumed)
{
    if (m_stopping.stop_requested())
        return;
    try {
        auto cluster = m_store.cluster(operation.cluster);
        if (cluster)
            return attempt(operation, *cluster, isResumed);
        const WorkError gone{{ErrorCode::Aborted, "the cluster is gone"}, {}};
        finish(operation, operation.type == "DELETE_CLUSTER" ? nullptr : &gone, {});
    } catch (const std::exception &error) { // of JSON that an older version of this program wrote
        const WorkError broken{{ErrorCode::Internal, error.what()}, {}};
        finish(operation, &broken, {});
    }
}

/// How long it is to take here. One that is taken on has had its time.
std::chrono::milliseconds ContainerOperations::plannedTime(const OperationRecord &operation,
                                                           const ClusterRecord &cluster, bool isResumed)
{
    FaultContext context;
    context.service = "container";
    context.location = operation.cluster.location;
    context.cluster = operation.cluster.name;
    context.pool = operation.pool;
    context.operation = operation.type;
    const auto slow = m_context.faults.strike(FaultKind::SlowOperation, context);
    if (isResumed && !slow)
        return 0ms;
    const auto usual = m_context.compressed(usualDuration(operation, cluster.wire));
    return std::chrono::duration_cast<std::chrono::milliseconds>(usual * (slow ? slow->factor : 1.0));
}

void ContainerOperations::attempt(OperationRecord &operation, ClusterRecord &cluster, bool isResumed)
{
    const auto start = Clock::now();
    auto planned = plannedTime(operation, cluster, isResumed);
    stage(operation, 0, {});
    std::optional<WorkError> failure = m_work.plannedFailure(operation, cluster);
    std::optional<ClusterEndpoint> endpoint;
    if (failure && failure->condition == "GCE_STOCKOUT")
        planned = std::max(planned, m_context.compressed(kStockoutPatience));
    if (!failure) {
        const auto onStage = [&](std::string_view words, double done) {
            const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
            const double share = planned > 0ms ? elapsed.count() / static_cast<double>(planned.count()) : 1;
            stage(operation, std::min(std::clamp(done, 0.0, 1.0), share), words);
        };
        auto outcome = m_work.perform(operation, cluster, onStage, m_stopping.get_token());
        if (outcome)
            endpoint = std::move(*outcome);
        else
            failure = outcome.error();
    }
    const bool isWhole = waitUntil(operation, start, planned);
    if (!isWhole)
        return; // written as running: the next process takes it on
    if (failure)
        m_work.cleanUp(operation, cluster, m_stopping.get_token());
    finish(operation, failure ? &*failure : nullptr, endpoint);
}

void ContainerOperations::finish(OperationRecord &operation, const WorkError *error,
                                 const std::optional<ClusterEndpoint> &endpoint)
{
    showEnd(operation, error ? &error->error : nullptr, error ? error->condition : std::string(),
            m_context.timestamp());
    // What was done must be written, else the cluster would be locked: a full disk may have room again soon.
    for (;;) {
        const auto written = m_store.finish(operation, [&](ClusterRecord &cluster) {
            return m_work.conclude(operation, cluster, error, endpoint);
        });
        if (written || !sleepUntil(Clock::now() + 1s))
            return;
    }
}

} // namespace cluster::local
