#include "cluster/local/runtimes/ray/worker_codec.h"

#include <stdexcept>

namespace cluster::local {

using nlohmann::json;

namespace {

// Fields are taken with at() and get(), which throw on what is missing or of another type; one place catches.

/// Not get<int>() alone, which cuts off what does not fit.
long number(const json &object, const char *name, long most)
{
    const json &field = object.at(name);
    const bool isNumber
        = field.is_number_unsigned() && field.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (!isNumber)
        throw std::out_of_range(name);
    return field.get<long>();
}

std::string text(const json &object, const char *name)
{
    return object.at(name).get<std::string>();
}

bool flag(const json &object, const char *name)
{
    return object.at(name).get<bool>();
}

ServeRole roleOf(const std::string &name)
{
    if (name == "imagine-ingress")
        return ServeRole::ImagineIngress;
    if (name == "imagine-model")
        return ServeRole::ImagineModel;
    if (name == "llm-ingress")
        return ServeRole::LlmIngress;
    if (name == "llm-server")
        return ServeRole::LlmServer;
    if (name == "llm-shard")
        return ServeRole::LlmShard;
    throw std::out_of_range("role");
}

std::vector<ServeTarget> targetsOf(const json &list)
{
    std::vector<ServeTarget> targets;
    for (const json &one : list.get_ref<const json::array_t &>())
        targets.push_back({text(one, "replica"), text(one, "deployment"), text(one, "host"),
                           static_cast<unsigned short>(number(one, "port", 65535)),
                           static_cast<int>(number(one, "max_ongoing", 1'000'000'000))});
    return targets;
}

HeadMessage start(const json &body)
{
    const json &arguments = body.at("arguments");
    if (!arguments.is_object())
        throw std::out_of_range("arguments");
    return HeadStart{{text(body, "replica"), text(body, "app"), text(body, "deployment"),
                      roleOf(text(body, "role")), arguments}};
}

HeadMessage proxy(const json &body)
{
    ServeProxyPlan plan;
    plan.isOn = flag(body, "is_on");
    plan.isDraining = flag(body, "is_draining");
    plan.port = static_cast<unsigned short>(number(body, "port", 65535));
    plan.isPopulated = flag(body, "is_populated");
    for (const json &route : body.at("routes").get_ref<const json::array_t &>())
        plan.routes.push_back({text(route, "app"), text(route, "prefix"), targetsOf(route.at("targets"))});
    return HeadProxy{std::move(plan)};
}

HeadMessage parsed(const std::string &name, const json &body)
{
    if (name == "welcome")
        return HeadWelcome{text(body, "node_id"), text(body, "session")};
    if (name == "refused")
        return HeadRefusal{text(body, "why")};
    if (name == "start")
        return start(body);
    if (name == "stop")
        return HeadStop{text(body, "replica")};
    if (name == "peers")
        return HeadPeers{text(body, "replica"), targetsOf(body.at("targets"))};
    if (name == "proxy")
        return proxy(body);
    if (name == "alive")
        return HeadAlive{};
    throw std::out_of_range("no such message");
}

std::string written(const json &message)
{
    return message.dump(-1, ' ', true, json::error_handler_t::replace);
}

} // namespace

Result<HeadMessage> readHeadMessage(std::string_view line)
{
    const auto wrong = [](const char *why) {
        return fail(ErrorCode::InvalidArgument, std::string("the head's message can't be read: ") + why);
    };
    try {
        // As deep as an application's arguments may be.
        const json::parser_callback_t isShallow
            = [](int depth, json::parse_event_t, json &) { return depth < 100; };
        const json message = json::parse(line, isShallow);
        if (!message.is_object() || message.size() != 1)
            return wrong("no object with one member");
        return parsed(message.begin().key(), *message.begin());
    } catch (const json::exception &error) {
        return wrong(error.what());
    } catch (const std::out_of_range &error) {
        return wrong(error.what());
    }
}

std::string helloLine(const RayNodeFacts &facts)
{
    return written({{"hello",
                     {{"protocol", 1},
                      {"ip", facts.ip},
                      {"name", facts.name},
                      {"host_name", facts.hostName},
                      {"instance_id", facts.instanceId},
                      {"node_type", facts.nodeType},
                      {"resources", facts.resources},
                      {"labels", facts.labels},
                      {"agent_port", facts.agentPort},
                      {"metrics_port", facts.metricsPort},
                      {"pid", facts.pid}}}});
}

std::string beatLine(const RayNodeStats &stats, const ServeTraffic &traffic)
{
    return written({{"beat",
                     {{"cpu", stats.cpuPercent},
                      {"memory_total", stats.memoryTotalBytes},
                      {"memory_used", stats.memoryUsedBytes},
                      {"own", stats.ownBytes},
                      {"load1", stats.load[0]},
                      {"load5", stats.load[1]},
                      {"load15", stats.load[2]},
                      {"ongoing", traffic.ongoing},
                      {"served", traffic.served}}}});
}

std::string replicaReadyLine(const ServeReplicaReady &ready)
{
    return written(
        {{"ready",
          {{"replica", ready.replica}, {"host", ready.host}, {"port", ready.port}, {"pid", ready.pid}}}});
}

std::string replicaFailedLine(const std::string &replica, const std::string &error)
{
    return written({{"failed", {{"replica", replica}, {"error", error.substr(0, 4000)}}}});
}

std::string proxyReadyLine()
{
    return written({{"proxy", json::object()}});
}

std::string byeLine()
{
    return written({{"bye", json::object()}});
}

} // namespace cluster::local
