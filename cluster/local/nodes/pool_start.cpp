// What is there at the start, and looking things up.

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodes/compute_class.h"
#include "cluster/local/nodes/json_access.h"
#include "cluster/local/nodes/node_names.h"
#include "cluster/local/nodes/node_pools_private.h"
#include "cluster/local/nodes/parallel.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

std::string poolNameOf(const Json &node)
{
    return node.value("metadata", Json::object())
        .value("labels", Json::object())
        .value(poolLabel, std::string());
}

std::string readyStatusOf(const Json &node)
{
    for (const Json &condition : node.value("status", Json::object()).value("conditions", Json::array())) {
        if (condition.value("type", std::string()) == "Ready")
            return condition.value("status", std::string());
    }
    return {};
}

std::string internalIpOf(const Json &node)
{
    for (const Json &address : node.value("status", Json::object()).value("addresses", Json::array())) {
        if (address.value("type", std::string()) == "InternalIP")
            return address.value("address", std::string());
    }
    return {};
}

} // namespace

Status NodePools::Private::start(std::vector<PoolSpec> pools)
{
    for (const PoolSpec &pool : pools) {
        if (const Status checked = check(pool); !checked)
            return checked;
        auto entry = std::make_shared<Pool>();
        entry->spec = pool;
        const std::lock_guard lock(m_mutex);
        m_pools[pool.name] = std::move(entry);
    }
    if (const Status installed = m_devices.installClasses(m_cancel.get_token()); !installed)
        return installed;
    if (const Status installed = installComputeClasses(m_client, m_cancel.get_token()); !installed)
        return installed;
    KubeListOptions list;
    list.labelSelector = poolLabel;
    KubeCallOptions call;
    call.cancel = m_cancel.get_token();
    Result<KubeList> nodes = m_client.list(coreV1("nodes"), list, call);
    if (!nodes)
        return tl::unexpected(nodes.error());
    if (const Status adopted = adopt(nodes->items); !adopted)
        return adopted;
    watchNodes();
    for (const PoolSpec &pool : pools) {
        if (const Status fitted = put(pool, false, m_cancel.get_token()); !fitted)
            return fitted;
    }
    return {};
}

/// A kubelet sees when its node was given up (on an overloaded machine all leases are late), and says that
/// it is well.
void NodePools::Private::watchNodes()
{
    Informer::Handlers handlers;
    handlers.onEvent = [this](const InformerEvent &event) {
        if (event.type != InformerEventType::Deleted && readyStatusOf(*event.object) == "Unknown")
            m_heartbeats.refute(json_access::text(*event.object, "metadata", "name"));
    };
    InformerOptions options;
    options.labelSelector = poolLabel;
    options.prune = [](Json &node) {
        const std::string ready = readyStatusOf(node);
        Json metadata{{"name", json_access::text(node, "metadata", "name")},
                      {"uid", json_access::text(node, "metadata", "uid")},
                      {"resourceVersion", json_access::text(node, "metadata", "resourceVersion")}};
        node = Json{{"metadata", std::move(metadata)},
                    {"status", {{"conditions", {{{"type", "Ready"}, {"status", ready}}}}}}};
    };
    m_watch = std::make_unique<Informer>(m_client, coreV1("nodes"), std::move(handlers), std::move(options));
}

/// Takes over the nodes that belong to a pool; deletes the others.
Status NodePools::Private::adopt(const std::vector<Json> &nodes)
{
    std::vector<std::string> strays;
    for (const Json &node : nodes) {
        if (const PoolPointer pool = find(poolNameOf(node)))
            adoptInto(*pool, node, strays);
        else
            strays.push_back(json_access::text(node, "metadata", "name"));
    }
    const CancelToken cancel = m_cancel.get_token();
    for (const std::string &stray : strays) {
        m_writer.dropPods(stray, cancel);
        if (const Status removed = m_writer.remove(stray, cancel); !removed)
            return removed;
    }
    // While nobody breathed for them, the control plane may have given them up.
    std::vector<std::pair<PoolSpec, Machine>> adopted;
    for (const PoolSpec &spec : specs()) {
        for (const Machine &machine : machinesOf(*find(spec.name)))
            adopted.emplace_back(spec, machine);
    }
    return inParallel(adopted.size(), 4, [&](std::size_t i) -> Status {
        const auto &[spec, machine] = adopted[i];
        const std::string &name = machine.identity.name;
        m_heartbeats.add(name, machine.uid);
        if (const Status published = m_devices.publish(spec, name, machine.uid, cancel); !published)
            return published;
        const Result<std::string> readiness = m_writer.readiness(name, cancel);
        if (readiness && *readiness != "True") {
            const Status set = m_writer.setCondition(name, readyCondition(true, {}, unixTimeNow()), cancel);
            if (!set)
                return set;
        }
        tell(m_options.listeners.onAdded, name);
        return {};
    });
}

void NodePools::Private::adoptInto(Pool &pool, const Json &node, std::vector<std::string> &strays)
{
    Machine machine;
    machine.identity.name = json_access::text(node, "metadata", "name");
    machine.uid = json_access::text(node, "metadata", "uid");
    const std::string address = internalIpOf(node);

    // Slot and number are not written anywhere: they are those that give this name and this address.
    constexpr int mostSlots = 10000;
    constexpr int mostNumbers = 65000;
    const auto &zones = pool.spec.zones;
    for (machine.slot = 0; machine.slot < mostSlots; ++machine.slot) {
        machine.identity.zone = zones[static_cast<std::size_t>(machine.slot) % zones.size()];
        if (nodeName(m_options.cluster.project, m_options.cluster.name, pool.spec, machine.identity.zone,
                     machine.slot)
            == machine.identity.name)
            break;
    }
    for (machine.number = 0; machine.number < mostNumbers; ++machine.number) {
        machine.identity.addresses = m_options.addresses(machine.number);
        if (machine.identity.addresses.internalIp == address)
            break;
    }
    const bool isOurs = machine.slot < mostSlots && machine.number < mostNumbers;
    const std::lock_guard lock(m_mutex);
    if (!isOurs || !m_numbers.insert(machine.number).second)
        strays.push_back(machine.identity.name);
    else
        pool.machines[machine.identity.name] = std::move(machine);
}

NodePools::Private::PoolPointer NodePools::Private::find(const std::string &pool) const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_pools.find(pool);
    return found == m_pools.end() ? nullptr : found->second;
}

NodePools::Private::PoolPointer NodePools::Private::poolOf(const std::string &node) const
{
    const std::lock_guard lock(m_mutex);
    for (const auto &[name, pool] : m_pools) {
        if (pool->machines.contains(node))
            return pool;
    }
    return nullptr;
}

std::vector<PoolSpec> NodePools::Private::specs() const
{
    const std::lock_guard lock(m_mutex);
    std::vector<PoolSpec> specs;
    for (const auto &entry : m_pools)
        specs.push_back(entry.second->spec);
    return specs;
}

std::vector<std::string> NodePools::Private::names(const std::string &pool) const
{
    const std::lock_guard lock(m_mutex);
    std::vector<std::string> names;
    const auto found = m_pools.find(pool);
    if (found == m_pools.end())
        return names;
    for (const auto &entry : found->second->machines)
        names.push_back(entry.first);
    return names;
}

std::vector<NodePools::Private::Machine> NodePools::Private::machinesOf(const Pool &pool) const
{
    const std::lock_guard lock(m_mutex);
    std::vector<Machine> machines;
    for (const auto &entry : pool.machines)
        machines.push_back(entry.second);
    return machines;
}

NodePools::Private::Machine NodePools::Private::newMachine(const Pool &pool, int slot)
{
    Machine machine;
    machine.slot = slot;
    machine.number = takeNumber();
    const auto &zones = pool.spec.zones;
    machine.identity.zone = zones[static_cast<std::size_t>(slot) % zones.size()];
    machine.identity.name
        = nodeName(m_options.cluster.project, m_options.cluster.name, pool.spec, machine.identity.zone, slot);
    machine.identity.addresses = m_options.addresses(machine.number);
    return machine;
}

int NodePools::Private::takeNumber()
{
    const std::lock_guard lock(m_mutex);
    int number = 0;
    for (const int used : m_numbers) {
        if (used != number)
            break;
        ++number;
    }
    m_numbers.insert(number);
    return number;
}

MachineShape NodePools::Private::shapeOf(const PoolSpec &pool) const
{
    return m_options.machine(pool.machineType).value_or(MachineShape{});
}

void NodePools::Private::tell(const std::function<void(const std::string &)> &listener,
                              const std::string &node)
{
    if (listener)
        listener(node);
}

} // namespace cluster::local
