#include "cluster/local/runtimes/ray/head_codec.h"

#include <cmath>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t mostEntries = 1000; ///< of a map
constexpr std::size_t longestText = 4096;

/// Reads fields of one object and remembers whether all were well formed.
class Fields
{
public:
    explicit Fields(const json &object) : m_object(object), m_isGood(object.is_object()) {}

    void text(const char *name, std::string &into)
    {
        if (const json *field = find(name, json::value_t::string))
            into = field->get<std::string>();
        m_isGood = m_isGood && into.size() <= longestText;
    }
    void number(const char *name, double &into)
    {
        const json *field = findAny(name);
        const bool isNumber = field != nullptr && field->is_number();
        m_isGood = m_isGood && isNumber;
        if (isNumber)
            into = field->get<double>();
        m_isGood = m_isGood && std::isfinite(into);
    }
    template<typename Integer>
    void integer(const char *name, Integer &into, double most)
    {
        double number_ = 0;
        number(name, number_);
        m_isGood = m_isGood && number_ >= 0 && number_ <= most && number_ == std::floor(number_);
        if (m_isGood)
            into = static_cast<Integer>(number_);
    }
    void numbers(const char *name, std::map<std::string, double> &into)
    {
        const json *field = find(name, json::value_t::object);
        m_isGood = m_isGood && field != nullptr && field->size() <= mostEntries;
        if (!m_isGood)
            return;
        for (const auto &[key, value] : field->items()) {
            m_isGood = m_isGood && value.is_number() && value >= 0 && key.size() <= longestText;
            if (m_isGood)
                into[key] = value.get<double>();
        }
    }
    void texts(const char *name, std::map<std::string, std::string> &into)
    {
        const json *field = find(name, json::value_t::object);
        m_isGood = m_isGood && field != nullptr && field->size() <= mostEntries;
        if (!m_isGood)
            return;
        for (const auto &[key, value] : field->items()) {
            m_isGood = m_isGood && value.is_string() && key.size() <= longestText
                && value.get_ref<const std::string &>().size() <= longestText;
            if (m_isGood)
                into[key] = value.get<std::string>();
        }
    }
    [[nodiscard]] bool isGood() const { return m_isGood; }

private:
    const json *findAny(const char *name)
    {
        const auto field = m_isGood ? m_object.find(name) : m_object.end();
        m_isGood = m_isGood && field != m_object.end();
        return m_isGood ? &*field : nullptr;
    }
    const json *find(const char *name, json::value_t type)
    {
        const json *field = findAny(name);
        m_isGood = m_isGood && field->type() == type;
        return m_isGood ? field : nullptr;
    }

    const json &m_object;
    bool m_isGood;
};

constexpr double mostPort = 65535, mostPid = 1e9, mostBytes = 1e18;

bool read(const json &body, WorkerHello &hello)
{
    Fields fields(body);
    RayNodeFacts &facts = hello.facts;
    fields.integer("protocol", hello.protocol, 1e6);
    fields.text("ip", facts.ip);
    fields.text("name", facts.name);
    fields.text("host_name", facts.hostName);
    fields.text("instance_id", facts.instanceId);
    fields.text("node_type", facts.nodeType);
    fields.numbers("resources", facts.resources);
    fields.texts("labels", facts.labels);
    fields.integer("agent_port", facts.agentPort, mostPort);
    fields.integer("metrics_port", facts.metricsPort, mostPort);
    fields.integer("pid", facts.pid, mostPid);
    return fields.isGood();
}

bool read(const json &body, WorkerBeat &beat)
{
    Fields fields(body);
    fields.number("cpu", beat.stats.cpuPercent);
    fields.integer("memory_total", beat.stats.memoryTotalBytes, mostBytes);
    fields.integer("memory_used", beat.stats.memoryUsedBytes, mostBytes);
    fields.integer("own", beat.stats.ownBytes, mostBytes);
    fields.number("load1", beat.stats.load[0]);
    fields.number("load5", beat.stats.load[1]);
    fields.number("load15", beat.stats.load[2]);
    std::map<std::string, double> ongoing, served;
    fields.numbers("ongoing", ongoing);
    fields.numbers("served", served);
    for (const auto &[replica, count] : ongoing)
        beat.traffic.ongoing[replica] = static_cast<int>(std::min(count, 1e6));
    for (const auto &[replica, count] : served)
        beat.traffic.served[replica] = static_cast<std::uint64_t>(std::min(count, mostBytes));
    return fields.isGood();
}

bool read(const json &body, ServeReplicaReady &ready)
{
    Fields fields(body);
    fields.text("replica", ready.replica);
    fields.text("host", ready.host);
    fields.integer("port", ready.port, mostPort);
    fields.integer("pid", ready.pid, mostPid);
    return fields.isGood();
}

bool read(const json &body, WorkerReplicaFailed &failed)
{
    Fields fields(body);
    fields.text("replica", failed.replica);
    fields.text("error", failed.error);
    return fields.isGood();
}

bool read(const json &, WorkerProxyReady &)
{
    return true;
}

bool read(const json &, WorkerBye &)
{
    return true;
}

template<typename Message>
Result<WorkerMessage> message(const json &body)
{
    Message made;
    if (!read(body, made))
        return fail(ErrorCode::InvalidArgument, "a worker's message has a missing or wrong field");
    return WorkerMessage(std::move(made));
}

const char *roleName(ServeRole role)
{
    switch (role) {
    case ServeRole::ImagineIngress:
        return "imagine-ingress";
    case ServeRole::ImagineModel:
        return "imagine-model";
    case ServeRole::LlmIngress:
        return "llm-ingress";
    case ServeRole::LlmServer:
        return "llm-server";
    case ServeRole::LlmShard:
        return "llm-shard";
    }
    return "";
}

json targetsJson(const std::vector<ServeTarget> &targets)
{
    json list = json::array();
    for (const ServeTarget &target : targets)
        list.push_back({{"replica", target.replica},
                        {"deployment", target.deployment},
                        {"host", target.host},
                        {"port", target.port},
                        {"max_ongoing", target.maxOngoing}});
    return list;
}

std::string line(const char *name, json body)
{
    return json{{name, std::move(body)}}.dump(-1, ' ', true, json::error_handler_t::replace);
}

} // namespace

Result<WorkerMessage> readWorkerMessage(std::string_view text)
{
    const json::parser_callback_t isShallow
        = [](int depth, json::parse_event_t, json &) { return depth < 8; };
    const json parsed = json::parse(text, isShallow, false);
    if (!parsed.is_object() || parsed.size() != 1)
        return fail(ErrorCode::InvalidArgument, "a worker's message is no JSON object with one member");
    const auto member = parsed.begin();
    const std::string &name = member.key();
    if (name == "hello")
        return message<WorkerHello>(*member);
    if (name == "beat")
        return message<WorkerBeat>(*member);
    if (name == "ready")
        return message<ServeReplicaReady>(*member);
    if (name == "failed")
        return message<WorkerReplicaFailed>(*member);
    if (name == "proxy")
        return message<WorkerProxyReady>(*member);
    if (name == "bye")
        return message<WorkerBye>(*member);
    return fail(ErrorCode::InvalidArgument, "a worker's message '" + name.substr(0, 40) + "' is unknown");
}

std::string welcomeLine(const std::string &nodeId, const std::string &session)
{
    return line("welcome", {{"node_id", nodeId}, {"session", session}});
}

std::string refusalLine(const std::string &why)
{
    return line("refused", {{"why", why}});
}

std::string startReplicaLine(const ServeReplicaSpec &spec)
{
    return line("start",
                {{"replica", spec.id},
                 {"app", spec.app},
                 {"deployment", spec.deployment},
                 {"role", roleName(spec.role)},
                 {"arguments", spec.arguments}});
}

std::string stopReplicaLine(const std::string &replica)
{
    return line("stop", {{"replica", replica}});
}

std::string peersLine(const std::string &replica, const std::vector<ServeTarget> &targets)
{
    return line("peers", {{"replica", replica}, {"targets", targetsJson(targets)}});
}

std::string proxyLine(const ServeProxyPlan &plan)
{
    json routes = json::array();
    for (const ServeRoute &route : plan.routes)
        routes.push_back(
            {{"app", route.app}, {"prefix", route.prefix}, {"targets", targetsJson(route.targets)}});
    return line("proxy",
                {{"is_on", plan.isOn},
                 {"is_draining", plan.isDraining},
                 {"port", plan.port},
                 {"is_populated", plan.isPopulated},
                 {"routes", std::move(routes)}});
}

std::string aliveLine()
{
    return line("alive", json::object());
}

} // namespace cluster::local
