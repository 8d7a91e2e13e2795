#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

using RayClock = std::chrono::steady_clock;
using RayResources = std::map<std::string, double>; ///< as Ray spells them: CPU, memory (bytes), TPU, node:IP

/// What `ray start` says of the node that it makes one of.
struct RayNodeFacts
{
    std::string ip, name, hostName;
    std::string instanceId, nodeType; ///< RAY_CLOUD_INSTANCE_ID, RAY_NODE_TYPE_NAME
    RayResources resources;
    std::map<std::string, std::string> labels;
    int agentPort = 52365, metricsPort = 8080;
    int pid = 0;
};

/// How much of the machine a node uses, as it measures itself.
struct RayNodeStats
{
    double cpuPercent = 0;
    std::uint64_t memoryTotalBytes = 0, memoryUsedBytes = 0; ///< of the machine
    std::uint64_t ownBytes = 0; ///< resident memory of the node's own process
    double load[3] = {0, 0, 0};
};

/// What a Serve replica is. Each role is played by code of this room; there is no Python.
enum class ServeRole { ImagineIngress, ImagineModel, LlmIngress, LlmServer, LlmShard };

struct ServeReplicaSpec
{
    std::string id; ///< eight characters, "2m6t189b"
    std::string app, deployment;
    ServeRole role = ServeRole::ImagineIngress;
    nlohmann::json arguments = nlohmann::json::object(); ///< by role; see serve_apps.h
};

/// Where a running replica is asked.
struct ServeTarget
{
    std::string replica, deployment;
    std::string host;
    unsigned short port = 0;
    int maxOngoing = 0; ///< requests at once; more wait at who sends them. 0: any number
    bool operator==(const ServeTarget &) const = default;
};

struct ServeRoute
{
    std::string app, prefix;
    std::vector<ServeTarget> targets; ///< replicas of the application's ingress
    bool operator==(const ServeRoute &) const = default;
};

/// What the Serve proxy of one node shall do.
struct ServeProxyPlan
{
    bool isOn = false;
    bool isDraining = false; ///< still answers, but tells balancers to go elsewhere
    unsigned short port = 8000;
    bool isPopulated = false; ///< the first application's routes are known
    std::vector<ServeRoute> routes;
    bool operator==(const ServeProxyPlan &) const = default;
};

/// A replica listens.
struct ServeReplicaReady
{
    std::string replica, host;
    unsigned short port = 0;
    int pid = 0;
};

/// What a node counts since it started.
struct ServeTraffic
{
    std::map<std::string, int> ongoing; ///< requests in hand, by replica
    std::map<std::string, std::uint64_t> served; ///< requests answered, by replica
};

/// How long things take, as recorded from a real Ray with its defaults. Tests have their own.
struct RayTimings
{
    std::chrono::milliseconds controlLoop{100};
    std::chrono::milliseconds build{1000}; ///< an application's build task
    std::chrono::milliseconds beat{500}; ///< between a worker's signs of life
    std::chrono::milliseconds lostReplica{4000}; ///< connection lost: its replicas are replaced
    std::chrono::milliseconds lostNode{15000}; ///< connection lost: the node is dead
    std::chrono::milliseconds hungNode{64000}; ///< connected but silent: the node is dead
    std::chrono::milliseconds reconnect{60000}; ///< a worker without its head gives up
    std::chrono::milliseconds stopping{2000}; ///< graceful_shutdown_wait_loop_s
    std::chrono::milliseconds draining{30000}; ///< a proxy without replicas
    std::chrono::milliseconds slowStart{30000}; ///< of a replica, before a message says so
};

std::string randomHex(std::size_t digits);
std::string randomReplicaId(); ///< eight of a-z and 0-9
std::string randomUuid();
double secondsSinceEpoch();
std::int64_t millisecondsSinceEpoch();

} // namespace cluster::local
