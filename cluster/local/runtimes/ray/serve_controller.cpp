#include "cluster/local/runtimes/ray/serve_controller.h"

#include <algorithm>
#include <utility>

namespace cluster::local {

using State = ServeReplicaState;
using DeploymentState = ServeDeploymentStatus;

namespace {

bool isLive(const ServeReplica &replica)
{
    return replica.state != State::Stopping;
}

int liveCount(const ServeDeployment &deployment)
{
    return static_cast<int>(std::count_if(deployment.replicas.begin(), deployment.replicas.end(), isLive));
}

} // namespace

ServeController::ServeController(ServeNodes &nodes, RayVariable variable, RayTimings timings)
    : m_nodes(nodes), m_variable(std::move(variable)), m_timings(timings)
{
}

void ServeController::apply(const ServeConfig &config, RayClock::time_point now)
{
    if (!m_state.isStarted) { // its HTTP options count until Serve is shut down, later ones don't
        m_state.isStarted = true;
        m_state.controllerActor = randomHex(24) + "01000000";
        m_state.controllerWorker = randomHex(56);
        m_state.startedAt = secondsSinceEpoch();
        m_state.proxyLocation = config.proxyLocation;
        m_state.port = config.port;
    }
    m_state.isEnding = false;
    for (const auto &done : std::exchange(m_whenEnded, {}))
        done(); // a new config is the end of a DELETE
    for (auto &[name, app] : m_state.apps) {
        const bool isWanted = std::any_of(config.apps.begin(), config.apps.end(),
                                          [&name](const ServeAppConfig &one) { return one.name == name; });
        if (!isWanted)
            app.status = ServeAppStatus::Deleting;
    }
    for (const ServeAppConfig &wanted : config.apps) {
        ServeApp &app = m_state.apps[wanted.name];
        const bool isSame = app.deployedAt > 0 && app.status != ServeAppStatus::Deleting
            && app.status != ServeAppStatus::DeployFailed && app.config.hasSameCode(wanted);
        const bool isEqual = isSame && app.config.given == wanted.given;
        app.config = wanted;
        app.deployedAt = secondsSinceEpoch();
        if (isEqual)
            continue;
        app.status = ServeAppStatus::Deploying;
        app.message.clear();
        app.hasNewCode = app.hasNewCode || !isSame;
        app.hasBuildFailed = false;
        app.buildUntil = isSame ? now : now + m_timings.build;
    }
    step(now);
}

void ServeController::shutDown(RayClock::time_point now, std::function<void()> done)
{
    m_whenEnded.push_back(std::move(done));
    m_state.isEnding = true;
    for (auto &[name, app] : m_state.apps)
        app.status = ServeAppStatus::Deleting;
    step(now);
}

void ServeController::step(RayClock::time_point now)
{
    ++m_state.loops;
    for (auto app = m_state.apps.begin(); app != m_state.apps.end();) {
        ServeApp &one = app->second;
        if (one.buildUntil && *one.buildUntil <= now && one.status != ServeAppStatus::Deleting)
            build(one, now);
        bool isEmpty = true;
        for (ServeDeployment &deployment : one.deployments) {
            reconcile(one, deployment, now);
            isEmpty = isEmpty && deployment.replicas.empty();
        }
        if (one.status == ServeAppStatus::Deleting && isEmpty) {
            app = m_state.apps.erase(app);
            continue;
        }
        std::erase_if(one.deployments, [](const ServeDeployment &deployment) {
            return deployment.target < 0 && deployment.replicas.empty();
        });
        judge(one);
        publishPeers(one);
        ++app;
    }
    stepProxies(now);
    endWhenEmpty();
}

void ServeController::build(ServeApp &app, RayClock::time_point now)
{
    app.buildUntil.reset();
    auto blueprint = appBlueprint(app.config, m_variable);
    if (!blueprint) {
        app.hasBuildFailed = true;
        app.status = ServeAppStatus::DeployFailed;
        app.message = "Deploying app '" + app.config.name
            + "' failed with exception:\nTraceback (most recent call last):\n" + blueprint.error().message;
        return;
    }
    adopt(app, *blueprint, now);
    m_isPopulated = true;
}

/// New deployments come, known ones take the new numbers, others go (target -1). Replicas of another code are
/// replaced.
void ServeController::adopt(ServeApp &app, const AppBlueprint &blueprint, RayClock::time_point now)
{
    const bool isNewCode = std::exchange(app.hasNewCode, false);
    app.blueprint = blueprint;
    for (ServeDeployment &known : app.deployments)
        known.target = -1;
    for (const DeploymentBlueprint &wanted : blueprint.deployments) {
        auto found
            = std::find_if(app.deployments.begin(), app.deployments.end(),
                           [&wanted](const auto &known) { return known.blueprint.name == wanted.name; });
        if (found == app.deployments.end())
            found = app.deployments.insert(found, ServeDeployment{});
        ServeDeployment &deployment = *found;
        deployment.blueprint = wanted;
        const auto own = app.config.deployments.find(wanted.name);
        deployment.config = own == app.config.deployments.end() ? nlohmann::json::object() : own->second;
        deployment.status = DeploymentState::Updating;
        deployment.trigger = "CONFIG_UPDATE_STARTED";
        deployment.message.clear();
        deployment.failures = 0;
        deployment.target = wanted.replicas;
        if (!wanted.autoscaling) {
            deployment.autoscaler.reset();
        } else {
            if (deployment.autoscaler)
                deployment.autoscaler->setRules(*wanted.autoscaling);
            else
                deployment.autoscaler.emplace(*wanted.autoscaling);
            deployment.target = deployment.autoscaler->firstCount();
        }
        for (ServeReplica &replica : deployment.replicas) {
            if (isNewCode && isLive(replica))
                stop(replica, now);
        }
    }
}

void ServeController::reconcile(ServeApp &app, ServeDeployment &deployment, RayClock::time_point now)
{
    const bool isGoing = app.status == ServeAppStatus::Deleting;
    const bool isKept = !isGoing && deployment.target >= 0;
    if (isKept && deployment.autoscaler && deployment.status != DeploymentState::DeployFailed)
        scale(deployment, now);
    const int wanted = isGoing ? 0 : std::max(0, deployment.target);
    // The youngest go first, and those that don't run yet before those that do.
    for (auto replica = deployment.replicas.rbegin();
         replica != deployment.replicas.rend() && liveCount(deployment) > wanted; ++replica) {
        if (isLive(*replica))
            stop(*replica, now);
    }
    if (deployment.status != DeploymentState::DeployFailed) {
        while (liveCount(deployment) < wanted)
            addReplica(app, deployment, now);
    }
    for (ServeReplica &replica : deployment.replicas) {
        if (replica.state == State::Starting && replica.node.empty())
            place(deployment, replica, now);
    }
    dropStopped(deployment, now);
    if (isKept)
        judge(deployment, now);
}

void ServeController::addReplica(ServeApp &app, ServeDeployment &deployment, RayClock::time_point now)
{
    ServeReplica replica;
    replica.spec = {randomReplicaId(), app.config.name, deployment.blueprint.name, deployment.blueprint.role,
                    deployment.blueprint.arguments};
    replica.actorId = randomHex(24) + "01000000";
    replica.since = now;
    replica.startedAt = secondsSinceEpoch();
    ++deployment.starts;
    deployment.replicas.push_back(std::move(replica));
}

void ServeController::stop(ServeReplica &replica, RayClock::time_point now)
{
    replica.state = State::Stopping;
    replica.since = now;
    m_peers.erase(replica.spec.id);
    if (!replica.node.empty())
        m_nodes.stopReplica(replica.node, replica.spec.id);
    for (const std::string &node : replica.shardNodes)
        m_nodes.stopReplica(node, replica.spec.id);
}

void ServeController::dropStopped(ServeDeployment &deployment, RayClock::time_point now)
{
    std::erase_if(deployment.replicas, [&](const ServeReplica &replica) {
        return replica.state == State::Stopping
            && (replica.node.empty() || replica.since + m_timings.stopping <= now);
    });
}

void ServeController::scale(ServeDeployment &deployment, RayClock::time_point now)
{
    double ongoing = 0;
    for (const ServeReplica &replica : deployment.replicas)
        ongoing += isLive(replica) ? replica.ongoingCount() : 0;
    const auto count = deployment.autoscaler->step(now, ongoing, deployment.target);
    if (!count || *count == deployment.target || deployment.status == DeploymentState::Updating)
        return;
    const bool isUp = *count > deployment.target;
    deployment.status = isUp ? DeploymentState::Upscaling : DeploymentState::Downscaling;
    deployment.trigger = "AUTOSCALING";
    deployment.message = std::string(isUp ? "Upscaling" : "Downscaling") + " from "
        + std::to_string(deployment.target) + " to " + std::to_string(*count) + " replicas.";
    deployment.target = *count;
}

ServeController::Found ServeController::find(const std::string &id)
{
    for (auto &[name, app] : m_state.apps) {
        for (ServeDeployment &deployment : app.deployments) {
            for (ServeReplica &replica : deployment.replicas) {
                if (replica.spec.id == id)
                    return {&app, &deployment, &replica};
            }
        }
    }
    return {};
}

void ServeController::onReplicaReady(const ServeReplicaReady &ready, RayClock::time_point now)
{
    const Found found = find(ready.replica);
    if (found.replica == nullptr || found.replica->state != State::Starting)
        return;
    ServeReplica &replica = *found.replica;
    if (ready.port != 0 && replica.shardsReady < replica.shardNodes.size()) {
        // One of the further hosts of a model; the model's own process starts when all of them listen.
        replica.spec.arguments["workers"].push_back(ready.host + ":" + std::to_string(ready.port));
        if (++replica.shardsReady == replica.shardNodes.size())
            m_nodes.startReplica(replica.node, replica.spec);
        return;
    }
    replica.target = {replica.spec.id, replica.spec.deployment, ready.host, ready.port,
                      found.deployment->blueprint.maxOngoing};
    replica.pid = ready.pid;
    replica.workerId = randomHex(56);
    replica.state = State::Running;
    replica.since = now;
    found.deployment->failures = 0;
}

void ServeController::onReplicaFailed(const std::string &id, const std::string &error,
                                      RayClock::time_point now)
{
    const Found found = find(id);
    if (found.replica == nullptr || !isLive(*found.replica))
        return;
    ServeDeployment &deployment = *found.deployment;
    const bool hadStarted = found.replica->state == State::Running;
    stop(*found.replica, now);
    if (hadStarted) {
        deployment.status = DeploymentState::Unhealthy;
        deployment.trigger = "HEALTH_CHECK_FAILED";
        deployment.message = "A replica's health check failed. This deployment will be UNHEALTHY until the "
                             "replica recovers or a new deploy happens.";
        return;
    }
    constexpr int attempts = 3;
    if (++deployment.failures < attempts) {
        deployment.message = "A replica failed to start with exception. Retrying "
            + std::to_string(attempts - deployment.failures) + " more time(s). Error:\n" + error;
        return;
    }
    deployment.status = DeploymentState::DeployFailed;
    deployment.trigger = "REPLICA_STARTUP_FAILED";
    deployment.message = "The deployment failed to start " + std::to_string(attempts)
        + " times in a row. This may be due to a problem with its constructor or initial health check "
          "failing. See controller logs for details. Error:\n"
        + error;
}

void ServeController::onNodeLost(const std::string &node, RayClock::time_point now)
{
    for (auto &[name, app] : m_state.apps) {
        for (ServeDeployment &deployment : app.deployments) {
            for (ServeReplica &replica : deployment.replicas) {
                const bool isShard = std::find(replica.shardNodes.begin(), replica.shardNodes.end(), node)
                    != replica.shardNodes.end();
                replica.ongoing.erase(node);
                if (replica.node != node && !isShard)
                    continue;
                if (isLive(replica))
                    onReplicaFailed(replica.spec.id, "The node " + node + " died.", now);
                if (replica.node == node)
                    replica.node.clear(); // nothing to wait for there
                std::erase(replica.shardNodes, node);
            }
        }
    }
    m_state.proxies.erase(node);
    step(now);
}

void ServeController::onTraffic(const std::string &node, const ServeTraffic &traffic)
{
    for (auto &[name, app] : m_state.apps) {
        for (ServeDeployment &deployment : app.deployments) {
            for (ServeReplica &replica : deployment.replicas) {
                replica.ongoing.erase(node);
                if (const auto now = traffic.ongoing.find(replica.spec.id); now != traffic.ongoing.end())
                    replica.ongoing[node] = now->second;
                if (const auto all = traffic.served.find(replica.spec.id); all != traffic.served.end())
                    replica.served = all->second;
            }
        }
    }
}

void ServeController::endWhenEmpty()
{
    if (!m_state.isEnding || !m_state.apps.empty())
        return;
    for (const auto &[node, proxy] : m_state.proxies)
        m_nodes.setProxy(node, {});
    m_state = {};
    m_peers.clear();
    m_isPopulated = false;
    for (const auto &done : std::exchange(m_whenEnded, {}))
        done();
}

} // namespace cluster::local
