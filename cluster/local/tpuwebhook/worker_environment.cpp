#include "cluster/local/tpuwebhook/worker_environment.h"

#include "cluster/local/nodes/json_access.h"

#include <utility>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

constexpr int megascalePort = 8081;
constexpr int processPort = 8471;

/// A container's variables as they were, and those that are added.
class Variables
{
public:
    explicit Variables(const Json &container) : m_old(at(container, "env")) {}

    [[nodiscard]] bool has(const std::string &name) const
    {
        for (const Json &variable : m_old) {
            if (text(variable, "name") == name)
                return true;
        }
        return false;
    }

    /// The last one counts, as in the container.
    [[nodiscard]] std::string value(const std::string &name) const
    {
        std::string found;
        for (const Json &variable : m_old) {
            if (text(variable, "name") == name)
                found = text(variable, "value");
        }
        return found;
    }

    void set(const std::string &name, const std::string &value)
    {
        m_added.push_back({{"name", name}, {"value", value}});
    }
    void setIfUnset(const std::string &name, const std::string &wanted)
    {
        if (value(name).empty())
            set(name, wanted);
    }
    void setField(const std::string &name, const char *field)
    {
        m_added.push_back({{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}});
    }

    std::vector<Json> take() { return std::exchange(m_added, {}); }

private:
    const Json &m_old;
    std::vector<Json> m_added;
};

std::string hostName(const WorkerPlace &worker, long host)
{
    return worker.group + "-" + std::to_string(worker.place.replica) + "-" + std::to_string(host) + "."
        + worker.headless;
}

std::string hostNames(const WorkerPlace &worker)
{
    std::string names;
    for (long host = 0; host < worker.hosts; ++host)
        names += (host > 0 ? "," : "") + hostName(worker, host);
    return names;
}

/// "HOST:PORT,…", host by host, a port for each container.
std::string processAddresses(const WorkerPlace &worker)
{
    std::string addresses;
    for (long host = 0; host < worker.hosts; ++host) {
        for (long container = 0; container < worker.containers; ++container)
            addresses += (addresses.empty() ? "" : ",") + hostName(worker, host) + ":"
                + std::to_string(processPort + container);
    }
    return addresses;
}

/// Slices that work on one job over the data centre's network.
void addMegascale(Variables &variables, long number, const WorkerPlace &worker)
{
    if (!variables.has("MEGASCALE_NUM_SLICES"))
        return;
    variables.setIfUnset("MEGASCALE_SLICE_ID", std::to_string(worker.place.replica));
    const std::string coordinator = worker.group + "-0-0." + worker.headless;
    variables.setIfUnset("MEGASCALE_COORDINATOR_ADDRESS",
                         worker.isV7x ? coordinator + ":" + std::to_string(megascalePort) : coordinator);
    variables.setIfUnset("MEGASCALE_PORT", std::to_string(megascalePort + (worker.isV7x ? number : 0)));
}

void addHosts(Variables &variables, long number, const WorkerPlace &worker)
{
    if (worker.hosts < 2)
        return;
    const std::string names = variables.value("TPU_WORKER_HOSTNAMES");
    if (names.empty() || names == "localhost")
        variables.set("TPU_WORKER_HOSTNAMES", hostNames(worker));
    if (!worker.isV7x)
        return;
    const std::string addresses = variables.value("TPU_PROCESS_ADDRESSES");
    if (addresses.empty() || addresses.find("localhost") != std::string::npos)
        variables.set("TPU_PROCESS_ADDRESSES", processAddresses(worker));
    variables.setIfUnset("TPU_PROCESS_PORT", std::to_string(processPort + number));
}

void addWorkerId(Variables &variables, long number, const WorkerPlace &worker)
{
    const std::string right
        = std::to_string(worker.isV7x ? worker.place.host * worker.containers + number : worker.place.host);
    const std::string known = variables.value("TPU_WORKER_ID");
    // A template can number its containers, but not its pods.
    const bool isContainersNumber = known == std::to_string(number) && known != right;
    if (known.empty() || isContainersNumber)
        variables.set("TPU_WORKER_ID", right);
}

} // namespace

std::vector<Json> workerVariables(const Json &container, long number, const WorkerPlace &worker)
{
    Variables variables(container);
    addMegascale(variables, number, worker);
    addHosts(variables, number, worker);
    addWorkerId(variables, number, worker);
    variables.setIfUnset("TPU_NAME", worker.group + "-" + std::to_string(worker.place.replica));
    if (!variables.has("TPU_DEVICE_PLUGIN_HOST_IP"))
        variables.setField("TPU_DEVICE_PLUGIN_HOST_IP", "status.hostIP");
    variables.setIfUnset("TPU_DEVICE_PLUGIN_ADDR", "$(TPU_DEVICE_PLUGIN_HOST_IP):2112");
    return variables.take();
}

} // namespace cluster::local
