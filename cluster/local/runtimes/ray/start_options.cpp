#include "cluster/local/runtimes/ray/start_options.h"

#include <charconv>
#include <optional>
#include <unistd.h>

namespace cluster::local {

using nlohmann::json;

namespace {

/// `ray start`'s flags that have no value.
bool isSwitch(const std::string &name)
{
    return name == "--head" || name == "--block" || name == "--no-monitor" || name == "--disable-usage-stats"
        || name == "--include-dashboard" || name == "--autoscaling-config" || name == "--verbose";
}

template<typename Number>
std::optional<Number> numberOf(const std::string &text)
{
    Number number{};
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || number < 0)
        return std::nullopt;
    return number;
}

tl::unexpected<Error> badValue(const std::string &name, const std::string &value)
{
    return fail(ErrorCode::InvalidArgument, "ray start: " + name + " can't be '" + value + "'");
}

Status setPort(const std::string &name, const std::string &value, auto &port)
{
    const auto number = numberOf<unsigned short>(value);
    if (!number)
        return badValue(name, value);
    port = *number;
    return {};
}

Status setResource(const std::string &name, const std::string &value, const std::string &resource,
                   RayResources &resources)
{
    const auto number = numberOf<double>(value);
    if (!number)
        return badValue(name, value);
    resources[resource] = *number;
    return {};
}

Status setResources(const std::string &value, RayResources &resources)
{
    const json parsed = json::parse(value, nullptr, false);
    if (!parsed.is_object())
        return badValue("--resources", value);
    for (const auto &[name, amount] : parsed.items()) {
        if (!amount.is_number() || amount.get<double>() < 0)
            return badValue("--resources", value);
        resources[name] = amount.get<double>();
    }
    return {};
}

Status setLabels(const std::string &value, std::map<std::string, std::string> &labels)
{
    for (std::size_t from = 0; from < value.size();) {
        const std::size_t end = std::min(value.find(',', from), value.size());
        const std::string pair = value.substr(from, end - from);
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos || equals == 0)
            return badValue("--labels", value);
        labels[pair.substr(0, equals)] = pair.substr(equals + 1);
        from = end + 1;
    }
    return {};
}

Status setFlag(const std::string &name, const std::string &value, RayStartOptions &options)
{
    RayNodeFacts &node = options.node;
    if (name == "--address") {
        const auto address = parseRayAddress(value);
        if (!address)
            return tl::unexpected(address.error());
        std::tie(options.headHost, options.headPort) = *address;
    } else if (name == "--port") {
        return setPort(name, value, options.headPort);
    } else if (name == "--dashboard-port") {
        return setPort(name, value, options.dashboardPort);
    } else if (name == "--dashboard-agent-listen-port") {
        return setPort(name, value, node.agentPort);
    } else if (name == "--metrics-export-port") {
        return setPort(name, value, node.metricsPort);
    } else if (name == "--num-cpus") {
        return setResource(name, value, "CPU", node.resources);
    } else if (name == "--num-gpus") {
        return setResource(name, value, "GPU", node.resources);
    } else if (name == "--memory") {
        return setResource(name, value, "memory", node.resources);
    } else if (name == "--object-store-memory") {
        return setResource(name, value, "object_store_memory", node.resources);
    } else if (name == "--resources") {
        return setResources(value, node.resources);
    } else if (name == "--labels") {
        return setLabels(value, node.labels);
    } else if (name == "--node-ip-address") {
        node.ip = value;
    } else if (name == "--node-name") {
        node.name = value;
    }
    return {};
}

/// What Ray finds out by itself where no flag says it.
void addDefaults(RayStartOptions &options)
{
    RayNodeFacts &node = options.node;
    RayResources &resources = node.resources;
    if (node.ip.empty())
        node.ip = options.variable("POD_IP");
    if (node.ip.empty())
        node.ip = "127.0.0.1";
    if (node.name.empty())
        node.name = node.ip;
    node.hostName = options.variable("HOSTNAME");
    node.instanceId = options.variable("RAY_CLOUD_INSTANCE_ID");
    node.nodeType = options.variable("RAY_NODE_TYPE_NAME");
    node.pid = ::getpid();
    resources.try_emplace("CPU", static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
    const double machine
        = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    resources.try_emplace("memory", machine * 0.7);
    resources.try_emplace("object_store_memory", resources["memory"] * 0.3);
    resources["node:" + node.ip] = 1;
    if (options.isHead)
        resources["node:__internal_head__"] = 1;
    // As Ray's TPU support: the slice's name on each of its hosts, and a mark on the first of them.
    const std::string slice = options.variable("TPU_NAME"), type = options.variable("TPU_ACCELERATOR_TYPE");
    if (resources.contains("TPU") && !slice.empty()) {
        resources[slice] = 1;
        if (options.variable("TPU_WORKER_ID") == "0" && !type.empty())
            resources["TPU-" + type + "-head"] = 1;
    }
}

} // namespace

Result<std::pair<std::string, unsigned short>> parseRayAddress(const std::string &text)
{
    const std::size_t colon = text.rfind(':');
    const auto port
        = colon == std::string::npos ? std::nullopt : numberOf<unsigned short>(text.substr(colon + 1));
    if (!port || *port == 0 || colon == 0)
        return badValue("--address", text);
    return std::pair(text.substr(0, colon), *port);
}

Result<RayStartOptions> parseRayStart(bool isHead, const std::vector<std::string> &words,
                                      const RayVariable &variable)
{
    RayStartOptions options;
    options.isHead = isHead;
    options.variable = variable;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string name = words[i], value;
        if (!name.starts_with("--"))
            return fail(ErrorCode::InvalidArgument, "ray start: unexpected argument '" + name + "'");
        if (const std::size_t equals = name.find('='); equals != std::string::npos) {
            value = name.substr(equals + 1);
            name.resize(equals);
        } else if (!isSwitch(name)) {
            if (++i == words.size())
                return fail(ErrorCode::InvalidArgument, "ray start: " + name + " needs a value");
            value = words[i];
        }
        if (auto set = setFlag(name, value, options); !set)
            return tl::unexpected(set.error());
    }
    if (!isHead && options.headHost.empty())
        return fail(ErrorCode::InvalidArgument, "ray start: a worker needs --address=HOST:PORT of its head");
    addDefaults(options);
    if (const std::string version = variable("SLIPWAY_RAY_VERSION"); !version.empty())
        options.rayVersion = version;
    options.engineProgram = variable("SLIPWAY_RAY_ENGINE");
    options.model = variable("SLIPWAY_RAY_MODEL");
    options.allowsJobs = variable("SLIPWAY_RAY_JOBS") == "allowed";
    return options;
}

} // namespace cluster::local
