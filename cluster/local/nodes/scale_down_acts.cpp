// How nodes leave: marked, emptied by eviction, taken out of their pool.

#include "cluster/kube/pause.h"
#include "cluster/local/nodes/autoscaler_private.h"
#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;
using std::chrono::milliseconds;

const NodeTaint toBeDeleted{toBeDeletedKey, "", "NoSchedule"};
const NodeTaint candidate{candidateKey, "", "PreferNoSchedule"};

std::string podPath(const Json &pod)
{
    return text(at(pod, "metadata"), "namespace") + '/' + text(at(pod, "metadata"), "name");
}

} // namespace

/// An earlier run may have ended between a mark and its end.
void Autoscaler::Private::cleanUp(const Scene &scene)
{
    std::vector<ResidentNode> marked;
    for (const ResidentNode &node : scene.nodes) {
        if (node.hasTaint(toBeDeletedKey) || node.hasTaint(candidateKey))
            marked.push_back(node);
    }
    unmark(marked);
    m_isClean = true;
}

void Autoscaler::Private::unmark(const std::vector<ResidentNode> &nodes)
{
    for (const ResidentNode &node : nodes)
        (void)m_writer.changeTaints(node.name, {}, {toBeDeleted, candidate}, m_cancel.get_token());
}

void Autoscaler::Private::takeAway(Leaving leaving)
{
    if (!leaving.nodes.empty() && !mark(leaving)) {
        if (leaving.isDrained)
            m_isDraining = false;
        return;
    }
    for (const ResidentNode &node : leaving.nodes)
        m_unneededSince.erase(node.name);
    {
        const std::lock_guard lock(m_mutex);
        m_busy.insert(leaving.pool.name);
    }
    m_changes.start([this, leaving = std::move(leaving)](const CancelToken &cancel) {
        leave(leaving, cancel);
        if (leaving.isDrained)
            m_isDraining = false;
        const std::lock_guard lock(m_mutex);
        m_busy.erase(leaving.pool.name);
    });
}

/// Marked first, then looked at again: the scheduler may have used one in between. False where none is left
/// to go; those are unmarked.
bool Autoscaler::Private::mark(Leaving &leaving)
{
    const CancelToken cancel = m_cancel.get_token();
    std::vector<ResidentNode> going;
    for (const ResidentNode &node : leaving.nodes) {
        const NodeTaint taint{toBeDeletedKey, std::to_string(unixTimeNow().count()), "NoSchedule"};
        if (const Status marked = m_writer.changeTaints(node.name, {taint}, {}, cancel); !marked) {
            say(node, true, "ScaleDownFailed",
                "failed to mark the node as toBeDeleted/unschedulable: " + marked.error().message);
            continue;
        }
        if (leaving.isDrained || m_writer.isEmpty(node.name, cancel).value_or(false)) {
            going.push_back(node);
            continue;
        }
        say(node, true, "ScaleDownFailed",
            "failed to delete empty node: failed to delete empty node \"" + node.name
                + "\", new pods scheduled");
        unmark({node});
    }
    const std::size_t step = std::max<std::size_t>(1, leaving.pool.zones.size());
    const bool isBroken = leaving.pool.isMultiHost && going.size() < leaving.nodes.size();
    const std::size_t kept = isBroken ? 0 : going.size() / step * step;
    unmark({going.begin() + static_cast<std::ptrdiff_t>(kept), going.end()});
    going.resize(kept);
    for (const ResidentNode &node : going) {
        say(node, false, "ScaleDown", "marked the node as toBeDeleted/unschedulable");
        if (!leaving.isDrained)
            sayOnStatus(false, "ScaleDownEmpty", "Scale-down: removing empty node \"" + node.name + '"');
    }
    leaving.nodes = std::move(going);
    return !leaving.nodes.empty();
}

/// Empties the nodes where that is needed and takes them out of the pool; what fails stays as it was.
void Autoscaler::Private::leave(const Leaving &leaving, const CancelToken &cancel)
{
    const char *what
        = leaving.isDrained ? "failed to drain and delete node: " : "failed to delete empty node: ";
    const PoolSpec &pool = leaving.pool;
    Status done;
    for (const ResidentNode &node : leaving.nodes) {
        if (leaving.isDrained && done)
            done = drain(node, cancel);
    }
    const int left = pool.nodeCount - static_cast<int>(leaving.nodes.size());
    if (done)
        done = pool.isAutoCreated && left <= 0 ? m_scaler.deletePool(pool.name)
                                               : m_scaler.resizePool(pool.name, left);
    for (const ResidentNode &node : leaving.nodes) {
        if (!done) {
            say(node, true, "ScaleDownFailed", what + done.error().message);
            continue;
        }
        say(node, false, "ScaleDown", "nodes removed by cluster autoscaler");
        sayOnStatus(false, leaving.isDrained ? "ScaleDown" : "ScaleDownEmpty",
                    leaving.isDrained ? "Scale-down: node " + node.name + " removed with drain"
                                      : "Scale-down: empty node " + node.name + " removed");
    }
    if (done)
        return;
    unmark(leaving.nodes);
    const std::lock_guard lock(m_mutex);
    m_backoff[pool.name] = {Clock::now() + m_options.failureBackoff, unixTimeNow(), {}, {}};
}

/// Evicts what runs there, each pod until its budget allows it, and waits until all have ended.
Status Autoscaler::Private::drain(const ResidentNode &node, const CancelToken &cancel)
{
    const Deadline deadline = Deadline::after(m_options.evictionTime);
    const Result<std::vector<Json>> pods = m_writer.podsOf(node.name, cancel);
    if (!pods)
        return tl::unexpected(pods.error());
    std::vector<const Json *> moving;
    std::vector<ResidentPod> residents;
    for (const Json &pod : *pods)
        residents.push_back(residentPod(pod));
    std::vector<const ResidentPod *> all;
    for (const ResidentPod &pod : residents)
        all.push_back(&pod);
    // One that must not be moved may have come between the look and the mark. A budget may allow it in time.
    const std::string obstacle = drainObstacle(all, budgets());
    if (!obstacle.empty() && !obstacle.ends_with(".pdb"))
        return fail(ErrorCode::FailedPrecondition, "can't be emptied any more: " + obstacle);
    for (std::size_t i = 0; i < residents.size(); ++i) {
        if (!residents[i].isNobody())
            moving.push_back(&(*pods)[i]);
    }
    std::string failures;
    for (const Json *pod : moving) {
        const Status evicted = evict(*pod, deadline, cancel);
        if (!evicted)
            failures += (failures.empty() ? "" : " ") + evicted.error().message;
    }
    if (!failures.empty())
        return fail(ErrorCode::ResourceExhausted,
                    "Failed to drain node /" + node.name + ", due to following errors: [" + failures + ']');
    const Deadline ended = Deadline::after(m_options.terminationTime);
    while (!m_writer.isEmpty(node.name, cancel).value_or(false)) {
        if (ended.hasPassed() || !pauseFor(milliseconds(500), cancel, ended))
            return fail(ErrorCode::DeadlineExceeded,
                        "Failed to drain node /" + node.name + ": pods remaining after timeout");
    }
    return {};
}

Status Autoscaler::Private::evict(const Json &pod, Deadline deadline, const CancelToken &cancel)
{
    const PodNeeds needs = podNeeds(pod);
    say(needs, false, "ScaleDown", "deleting pod for node scale down");
    while (true) {
        const Status evicted = m_writer.evict(pod, cancel);
        if (evicted || evicted.error().code == ErrorCode::NotFound)
            return {};
        if (!deadline.hasPassed() && pauseFor(std::min(milliseconds(10000), m_options.scanInterval), cancel))
            continue;
        say(needs, true, "ScaleDownFailed", "failed to delete pod for ScaleDown");
        return fail(evicted.error().code,
                    "failed to evict pod " + podPath(pod)
                        + " within allowed timeout (last error: " + evicted.error().message + ')');
    }
}

} // namespace cluster::local
