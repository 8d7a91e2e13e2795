#pragma once

#include "cluster/kube/discovery.h"
#include "cluster/local/lws/lws_defaults.h"

#include <QFile>
#include <QString>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// Objects recorded from the real manager (v0.10), and sets as its API server gave them to it.
namespace recorded {

using nlohmann::json;

inline std::vector<json> objects(const std::string &file)
{
    QFile source(QStringLiteral(SLIPWAY_TEST_DATA "/lws/") + QString::fromStdString(file)
                 + QStringLiteral(".yaml"));
    if (!source.open(QFile::ReadOnly))
        return {};
    return cluster::parseManifests(source.readAll().toStdString()).value_or(std::vector<json>{});
}

/// The one of this kind and name; null: none.
inline json object(const std::string &file, const std::string &kind, const std::string &name)
{
    for (const json &object : objects(file)) {
        if (object["kind"] == kind && object["metadata"]["name"] == name)
            return object;
    }
    return nullptr;
}

inline void fillPorts(json &podTemplate)
{
    for (json &container : podTemplate["spec"]["containers"]) {
        if (!container.contains("ports"))
            continue;
        for (json &port : container["ports"])
            port.emplace("protocol", "TCP");
    }
}

/// A set of a manifest with what the CRD's schema adds to it.
inline json withSchemaDefaults(json lws)
{
    json &spec = lws["spec"];
    json &group = spec["leaderWorkerTemplate"];
    spec.emplace("replicas", 1);
    spec.emplace("startupPolicy", "LeaderCreated");
    group.emplace("size", 1);
    group.emplace("restartPolicy", "RecreateGroupOnPodRestart");
    if (group.contains("subGroupPolicy"))
        group["subGroupPolicy"].emplace("subGroupPolicyType", "LeaderWorker");
    spec.emplace("rolloutStrategy", json::object());
    json &rollout = spec["rolloutStrategy"];
    rollout.emplace("type", "RollingUpdate");
    if (rollout.contains("rollingUpdateConfiguration")) {
        json &configuration = rollout["rollingUpdateConfiguration"];
        configuration.emplace("maxUnavailable", 1);
        configuration.emplace("maxSurge", 0);
        configuration.emplace("partition", 0);
    }
    fillPorts(group["workerTemplate"]);
    if (group.contains("leaderTemplate"))
        fillPorts(group["leaderTemplate"]);
    return lws;
}

/// As the mutating webhook leaves it.
inline json admitted(const json &lws)
{
    return lws.patch(cluster::local::defaultsPatch(lws));
}

/// The manifest `name` of a file as it was stored, in a namespace.
inline json storedSet(const std::string &file, const std::string &name, const std::string &nameSpace)
{
    json lws = admitted(withSchemaDefaults(object(file, "LeaderWorkerSet", name)));
    lws["metadata"]["namespace"] = nameSpace;
    lws["metadata"]["uid"] = "<uid>";
    lws["metadata"]["generation"] = 1;
    return lws;
}

} // namespace recorded
