// Where replicas go, what is said of them, and the proxies.

#include "cluster/local/runtimes/ray/serve_controller.h"

#include <algorithm>

namespace cluster::local {

using State = ServeReplicaState;
using DeploymentState = ServeDeploymentStatus;

namespace {

bool fits(const RayResources &wanted, const RayResources &total, const RayResources &used)
{
    return std::all_of(wanted.begin(), wanted.end(), [&](const auto &one) {
        const auto all = total.find(one.first), taken = used.find(one.first);
        const double free
            = (all == total.end() ? 0 : all->second) - (taken == used.end() ? 0 : taken->second);
        return one.second <= free + 1e-9;
    });
}

std::string resourceText(const RayResources &resources)
{
    return nlohmann::json(resources).dump();
}

} // namespace

RayResources ServeController::usedOn(const std::string &node) const
{
    RayResources used;
    for (const auto &[name, app] : m_state.apps) {
        for (const ServeDeployment &deployment : app.deployments) {
            for (const ServeReplica &replica : deployment.replicas) {
                const auto shards = std::count(replica.shardNodes.begin(), replica.shardNodes.end(), node);
                for (const auto &[resource, amount] : deployment.blueprint.resources) {
                    const double count = (replica.node == node ? 1 : 0)
                        + (resource == "CPU" ? 0 : static_cast<double>(shards)); // shards hold chips only
                    if (count > 0)
                        used[resource] += amount * count;
                }
            }
        }
    }
    return used;
}

/// The nodes that a replica may take, best first: with room, few replicas, and not the head if others do.
std::vector<std::string> ServeController::roomFor(const ServeDeployment &deployment) const
{
    struct Candidate
    {
        std::string id;
        std::size_t replicas = 0;
        bool isHead = false;
    };
    std::vector<Candidate> candidates;
    for (const ServeNode &node : m_nodes.alive()) {
        if (!fits(deployment.blueprint.resources, node.resources, usedOn(node.id)))
            continue;
        Candidate candidate{node.id, 0, node.isHead};
        for (const auto &[name, app] : m_state.apps) {
            for (const ServeDeployment &other : app.deployments)
                candidate.replicas += static_cast<std::size_t>(
                    std::count_if(other.replicas.begin(), other.replicas.end(),
                                  [&node](const ServeReplica &one) { return one.node == node.id; }));
        }
        candidates.push_back(candidate);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
        return std::pair(a.isHead, a.replicas) < std::pair(b.isHead, b.replicas);
    });
    std::vector<std::string> ids;
    for (const Candidate &candidate : candidates)
        ids.push_back(candidate.id);
    return ids;
}

void ServeController::place(ServeDeployment &deployment, ServeReplica &replica, RayClock::time_point now)
{
    const std::vector<std::string> nodes = roomFor(deployment);
    const auto needed = static_cast<std::size_t>(deployment.blueprint.shards) + 1;
    if (nodes.size() < needed)
        return;
    replica.node = nodes[0];
    replica.since = now;
    replica.shardNodes.assign(nodes.begin() + 1, nodes.begin() + static_cast<std::ptrdiff_t>(needed));
    if (replica.shardNodes.empty()) {
        m_nodes.startReplica(replica.node, replica.spec);
        return;
    }
    replica.spec.arguments["workers"] = nlohmann::json::array();
    ServeReplicaSpec shard = replica.spec;
    shard.role = ServeRole::LlmShard;
    for (const std::string &node : replica.shardNodes)
        m_nodes.startReplica(node, shard);
}

/// A deployment's status, from its replicas.
void ServeController::judge(ServeDeployment &deployment, RayClock::time_point now)
{
    const auto &replicas = deployment.replicas;
    const auto running = std::count_if(replicas.begin(), replicas.end(), [](const ServeReplica &replica) {
        return replica.state == State::Running;
    });
    // Going up or to another config it is done with the last that runs, going down with the last that is
    // gone.
    const bool isGoingDown = deployment.status == DeploymentState::Downscaling;
    const bool isThere = running == deployment.target
        && (!isGoingDown || running == static_cast<std::ptrdiff_t>(replicas.size()));
    if (isThere) {
        if (deployment.status == DeploymentState::Updating)
            deployment.trigger = "CONFIG_UPDATE_COMPLETED";
        else if (deployment.status == DeploymentState::Upscaling)
            deployment.trigger = "UPSCALE_COMPLETED";
        else if (isGoingDown)
            deployment.trigger = "DOWNSCALE_COMPLETED";
        else if (deployment.status == DeploymentState::Unhealthy)
            deployment.trigger = "UNSPECIFIED";
        deployment.status = DeploymentState::Healthy;
        deployment.message.clear();
        return;
    }
    if (deployment.status != DeploymentState::Updating && deployment.status != DeploymentState::Upscaling)
        return;
    int unplaced = 0, slow = 0;
    for (const ServeReplica &replica : replicas) {
        const bool isSlow = replica.state == State::Starting && replica.since + m_timings.slowStart <= now;
        unplaced += isSlow && replica.node.empty() ? 1 : 0;
        slow += isSlow && !replica.node.empty() ? 1 : 0;
    }
    if (unplaced + slow == 0)
        return;
    const std::string app = replicas.front().spec.app;
    const std::string start = "Deployment '" + deployment.blueprint.name + "' in application '" + app
        + "' has " + std::to_string(unplaced > 0 ? unplaced : slow)
        + " replicas that have taken more than 30s to ";
    RayResources available;
    for (const ServeNode &node : m_nodes.alive()) {
        for (const auto &[resource, amount] : node.resources)
            available[resource] += amount;
    }
    deployment.message = unplaced > 0
        ? start
            + "be scheduled. This may be due to waiting for the cluster to auto-scale or for a runtime "
              "environment to be installed. Resources required for each replica: "
            + resourceText(deployment.blueprint.resources) + ", total resources available: "
            + resourceText(available) + ". Use `ray status` for more details."
        : start + "initialize.\nThis may be caused by a slow __init__ or reconfigure method.";
}

void ServeController::judge(ServeApp &app)
{
    const bool isSettled = app.status == ServeAppStatus::Deleting || app.hasBuildFailed || app.buildUntil;
    if (isSettled || app.deployments.empty())
        return;
    const auto count = [&app](DeploymentState status) {
        return std::count_if(app.deployments.begin(), app.deployments.end(),
                             [status](const ServeDeployment &one) { return one.status == status; });
    };
    if (count(DeploymentState::DeployFailed) > 0) {
        app.status = ServeAppStatus::DeployFailed;
        app.message = "Failed to update the deployments [";
        bool isFirst = true;
        for (const ServeDeployment &deployment : app.deployments) {
            if (deployment.status != DeploymentState::DeployFailed)
                continue;
            app.message += (isFirst ? "'" : ", '") + deployment.blueprint.name + "'";
            isFirst = false;
        }
        app.message += "].";
    } else if (count(DeploymentState::Unhealthy) > 0) {
        app.status = ServeAppStatus::Unhealthy;
    } else if (count(DeploymentState::Updating) > 0) {
        app.status = ServeAppStatus::Deploying;
    } else {
        app.status = ServeAppStatus::Running; // also while it scales
        app.message.clear();
    }
}

void ServeController::publishPeers(ServeApp &app)
{
    for (const ServeDeployment &caller : app.deployments) {
        if (caller.blueprint.outbound.empty())
            continue;
        std::vector<ServeTarget> targets;
        for (const ServeDeployment &called : app.deployments) {
            const auto &names = caller.blueprint.outbound;
            if (std::find(names.begin(), names.end(), called.blueprint.name) == names.end())
                continue;
            for (const ServeReplica &replica : called.replicas) {
                if (replica.state == State::Running)
                    targets.push_back(replica.target);
            }
        }
        for (const ServeReplica &replica : caller.replicas) {
            if (replica.state != State::Running || m_peers[replica.spec.id] == targets)
                continue;
            m_peers[replica.spec.id] = targets;
            m_nodes.setPeers(replica.node, replica.spec.id, targets);
        }
    }
}

ServeProxyPlan ServeController::planFor(bool isDraining) const
{
    ServeProxyPlan plan;
    plan.isOn = true;
    plan.isDraining = isDraining;
    plan.port = m_state.port;
    plan.isPopulated = m_isPopulated;
    for (const auto &[name, app] : m_state.apps) {
        if (!app.blueprint || app.config.routePrefix.empty() || app.status == ServeAppStatus::Deleting)
            continue;
        ServeRoute route{name, app.config.routePrefix, {}};
        for (const ServeDeployment &deployment : app.deployments) {
            if (deployment.blueprint.name != app.blueprint->ingress)
                continue;
            for (const ServeReplica &replica : deployment.replicas) {
                if (replica.state == State::Running)
                    route.targets.push_back(replica.target);
            }
        }
        plan.routes.push_back(std::move(route));
    }
    return plan;
}

/// One proxy on the head, and one on each node with a replica; one without drains and goes.
void ServeController::stepProxies(RayClock::time_point now)
{
    if (!m_state.isStarted || m_state.proxyLocation == "Disabled")
        return;
    for (const ServeNode &node : m_nodes.alive()) {
        bool isWanted = node.isHead;
        for (const auto &[name, app] : m_state.apps) {
            for (const ServeDeployment &deployment : app.deployments) {
                for (const ServeReplica &replica : deployment.replicas)
                    isWanted = isWanted
                        || (m_state.proxyLocation == "EveryNode" && replica.node == node.id
                            && replica.state != State::Stopping);
            }
        }
        auto found = m_state.proxies.find(node.id);
        if (found == m_state.proxies.end()) {
            if (!isWanted)
                continue;
            ServeProxy proxy;
            proxy.node = node.id;
            proxy.actorId = randomHex(24) + "01000000";
            proxy.workerId = randomHex(56);
            proxy.since = now;
            found = m_state.proxies.emplace(node.id, std::move(proxy)).first;
        }
        ServeProxy &proxy = found->second;
        const bool wasDraining = proxy.status == ServeProxyStatus::Draining;
        if (isWanted == wasDraining) {
            proxy.status = isWanted ? ServeProxyStatus::Healthy : ServeProxyStatus::Draining;
            proxy.since = now;
        }
        const bool isGone = !isWanted && proxy.since + m_timings.draining <= now;
        const ServeProxyPlan plan
            = isGone ? ServeProxyPlan() : planFor(proxy.status == ServeProxyStatus::Draining);
        if (!(plan == proxy.plan))
            m_nodes.setProxy(node.id, plan);
        proxy.plan = plan;
        if (isGone)
            m_state.proxies.erase(found);
    }
}

void ServeController::onProxyReady(const std::string &node, RayClock::time_point now)
{
    const auto proxy = m_state.proxies.find(node);
    if (proxy == m_state.proxies.end() || proxy->second.status != ServeProxyStatus::Starting)
        return;
    proxy->second.status = ServeProxyStatus::Healthy;
    proxy->second.since = now;
}

} // namespace cluster::local
