#include "cluster/local/network/service_table.h"

#include "cluster/local/network/service_names.h"
#include "cluster/local/network/service_objects.h"
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

namespace cluster::local {

namespace {

using Slices = std::map<std::string, EndpointSliceFacts>; // by the slice's name

} // namespace

struct ServiceTable::Private
{
    explicit Private(AddressPlan p) : plan(p) {}

    struct Entry
    {
        std::optional<ServiceFacts> service; // slices may come before their Service
        Slices slices;
        mutable std::size_t turn = 0; // which ready endpoint is next
    };

    const AddressPlan plan;
    mutable std::mutex mutex; // guards all below it, up to changedMutex
    std::map<ServiceName, Entry> entries;
    std::map<Ipv4, ServiceName> byClusterIp;
    std::map<std::pair<std::string, std::string>, ServiceName> serviceOfSlice; // by namespace and slice
    std::map<std::pair<Ipv4, std::uint16_t>, DialTarget> pins;
    std::mutex changedMutex; // guards the function and is held while it runs
    std::function<void()> changed;

    void tellChange()
    {
        const std::lock_guard lock(changedMutex);
        if (changed)
            changed();
    }
    [[nodiscard]] Result<DialTarget> endpointOf(const ServiceName &name,
                                                const ServiceFacts::Port &port) const;
    [[nodiscard]] Result<DialTarget> resolve(Ipv4 clusterIp, std::uint16_t port) const;
    [[nodiscard]] Result<DialTarget> resolveService(const ServiceName &name, std::uint16_t port) const;
    [[nodiscard]] std::optional<DialTarget> resolvePod(const PodName &name, std::uint16_t port) const;
    void dropIfEmpty(const ServiceName &name);
    bool removeSlice(const std::pair<std::string, std::string> &key);
};

ServiceTable::ServiceTable(AddressPlan plan) : m_p(std::make_unique<Private>(plan)) {}
ServiceTable::~ServiceTable() = default;

void ServiceTable::Private::dropIfEmpty(const ServiceName &name)
{
    const auto entry = entries.find(name);
    if (entry != entries.end() && !entry->second.service && entry->second.slices.empty())
        entries.erase(entry);
}

void ServiceTable::applyService(const nlohmann::json &service)
{
    ServiceFacts facts = readService(service);
    const ServiceName name{facts.nameSpace, facts.name};
    {
        const std::lock_guard lock(m_p->mutex);
        Private::Entry &entry = m_p->entries[name];
        if (entry.service == facts)
            return;
        if (entry.service && entry.service->clusterIp)
            m_p->byClusterIp.erase(*entry.service->clusterIp);
        if (facts.clusterIp)
            m_p->byClusterIp[*facts.clusterIp] = name;
        entry.service = std::move(facts);
    }
    m_p->tellChange();
}

void ServiceTable::removeService(const std::string &nameSpace, const std::string &name)
{
    const ServiceName key{nameSpace, name};
    {
        const std::lock_guard lock(m_p->mutex);
        const auto entry = m_p->entries.find(key);
        if (entry == m_p->entries.end() || !entry->second.service)
            return;
        if (entry->second.service->clusterIp)
            m_p->byClusterIp.erase(*entry->second.service->clusterIp);
        entry->second.service.reset();
        m_p->dropIfEmpty(key);
    }
    m_p->tellChange();
}

bool ServiceTable::Private::removeSlice(const std::pair<std::string, std::string> &key)
{
    const auto owner = serviceOfSlice.find(key);
    if (owner == serviceOfSlice.end())
        return false;
    const ServiceName service = owner->second;
    serviceOfSlice.erase(owner);
    entries[service].slices.erase(key.second);
    dropIfEmpty(service);
    return true;
}

void ServiceTable::applyEndpointSlice(const nlohmann::json &slice)
{
    EndpointSliceFacts facts = readEndpointSlice(slice);
    std::erase_if(facts.endpoints, [this](const auto &e) { return !m_p->plan.contains(e.address); });
    const std::pair key{facts.nameSpace, facts.name};
    const ServiceName service{facts.nameSpace, facts.service};
    {
        const std::lock_guard lock(m_p->mutex);
        const auto owner = m_p->serviceOfSlice.find(key);
        if (owner != m_p->serviceOfSlice.end() && owner->second == service
            && m_p->entries[service].slices[facts.name] == facts)
            return;
        m_p->removeSlice(key);
        if (!facts.service.empty()) {
            m_p->serviceOfSlice[key] = service;
            m_p->entries[service].slices[facts.name] = std::move(facts);
        }
    }
    m_p->tellChange();
}

void ServiceTable::removeEndpointSlice(const std::string &nameSpace, const std::string &name)
{
    {
        const std::lock_guard lock(m_p->mutex);
        if (!m_p->removeSlice({nameSpace, name}))
            return;
    }
    m_p->tellChange();
}

void ServiceTable::pin(Ipv4 clusterIp, std::uint16_t port, DialTarget target)
{
    {
        const std::lock_guard lock(m_p->mutex);
        m_p->pins[{clusterIp, port}] = target;
    }
    m_p->tellChange();
}

Result<DialTarget> ServiceTable::Private::endpointOf(const ServiceName &name,
                                                     const ServiceFacts::Port &port) const
{
    std::vector<DialTarget> ready;
    const Entry &entry = entries.at(name);
    for (const auto &[sliceName, slice] : entry.slices) {
        for (const ServiceFacts::Port &slicePort : slice.ports) {
            if (slicePort.name != port.name)
                continue;
            const std::uint16_t number = slicePort.port == 0 ? port.port : slicePort.port;
            for (const EndpointSliceFacts::Endpoint &endpoint : slice.endpoints) {
                if (endpoint.isReady)
                    ready.push_back({onThisMachine(endpoint.address), number, {}});
            }
        }
    }
    if (ready.empty())
        return fail(ErrorCode::Unavailable,
                    "no ready endpoint of service " + name.nameSpace + "/" + name.name + " for port "
                        + std::to_string(port.port));
    return ready[entry.turn++ % ready.size()];
}

Result<DialTarget> ServiceTable::Private::resolve(Ipv4 clusterIp, std::uint16_t port) const
{
    if (const auto pinned = pins.find({clusterIp, port}); pinned != pins.end())
        return pinned->second;
    const auto name = byClusterIp.find(clusterIp);
    if (name == byClusterIp.end())
        return fail(ErrorCode::NotFound, "no service has the address " + clusterIp.text());
    for (const ServiceFacts::Port &known : entries.at(name->second).service->ports) {
        if (known.port == port)
            return endpointOf(name->second, known);
    }
    return fail(ErrorCode::NotFound,
                "service " + name->second.nameSpace + "/" + name->second.name + " has no TCP port "
                    + std::to_string(port));
}

Result<DialTarget> ServiceTable::resolve(Ipv4 clusterIp, std::uint16_t port) const
{
    const std::lock_guard lock(m_p->mutex);
    return m_p->resolve(clusterIp, port);
}

Result<DialTarget> ServiceTable::Private::resolveService(const ServiceName &name, std::uint16_t port) const
{
    const auto found = entries.find(name);
    if (found == entries.end() || !found->second.service)
        return fail(ErrorCode::NotFound, "there is no service " + name.nameSpace + "/" + name.name);
    const Entry &entry = found->second;
    if (entry.service->externalName == "localhost")
        return DialTarget{Ipv4{0x7F000001}, port, {}};
    if (entry.service->clusterIp)
        return resolve(*entry.service->clusterIp, port);
    // Headless: its name is that of its pods, and the port is taken as it is.
    std::vector<DialTarget> ready;
    for (const auto &[sliceName, slice] : entry.slices) {
        for (const EndpointSliceFacts::Endpoint &endpoint : slice.endpoints) {
            if (endpoint.isReady)
                ready.push_back({onThisMachine(endpoint.address), port, {}});
        }
    }
    if (ready.empty())
        return fail(ErrorCode::Unavailable,
                    "service " + name.nameSpace + "/" + name.name + " has no ready pod");
    return ready[entry.turn++ % ready.size()];
}

std::optional<DialTarget> ServiceTable::Private::resolvePod(const PodName &name, std::uint16_t port) const
{
    const auto found = entries.find(name.service);
    if (found == entries.end())
        return std::nullopt;
    for (const auto &[sliceName, slice] : found->second.slices) {
        for (const EndpointSliceFacts::Endpoint &endpoint : slice.endpoints) {
            if (endpoint.isReady && endpoint.hostName == name.host)
                return DialTarget{onThisMachine(endpoint.address), port, {}};
        }
    }
    return std::nullopt;
}

Result<DialTarget> ServiceTable::resolve(std::string_view host, std::uint16_t port,
                                         std::string_view fromNamespace) const
{
    const NameMeanings meanings = meaningsOf(host, fromNamespace);
    const std::lock_guard lock(m_p->mutex);
    for (const auto &[name, entry] : m_p->entries) {
        if (entry.service && host == "localhost" && entry.service->externalName == host)
            return m_p->resolveService(name, port);
    }
    for (const PodName &pod : meanings.pods) {
        if (const auto target = m_p->resolvePod(pod, port))
            return *target;
    }
    for (const ServiceName &service : meanings.services) {
        auto target = m_p->resolveService(service, port);
        if (target || target.error().code != ErrorCode::NotFound)
            return target;
    }
    return fail(ErrorCode::NotFound,
                "no service or pod of the cluster is called '" + std::string(host) + "' with a port "
                    + std::to_string(port));
}

std::string ServiceTable::hostsText(std::string_view nameSpace) const
{
    std::string text = "127.0.0.1 localhost\n";
    const std::lock_guard lock(m_p->mutex);
    for (const auto &[name, entry] : m_p->entries) {
        if (!entry.service)
            continue;
        if (entry.service->externalName == "localhost")
            text += hostsLine(Ipv4{0x7F000001}, "", name, nameSpace);
        if (entry.service->clusterIp)
            text += hostsLine(onThisMachine(*entry.service->clusterIp), "", name, nameSpace);
        else if (entry.service->externalName.empty()) {
            for (const auto &[sliceName, slice] : entry.slices) {
                for (const EndpointSliceFacts::Endpoint &endpoint : slice.endpoints) {
                    if (!endpoint.isReady)
                        continue;
                    text += hostsLine(onThisMachine(endpoint.address), "", name, nameSpace);
                    if (!endpoint.hostName.empty())
                        text
                            += hostsLine(onThisMachine(endpoint.address), endpoint.hostName, name, nameSpace);
                }
            }
        }
    }
    return text;
}

std::vector<ServicePort> ServiceTable::ports() const
{
    const std::lock_guard lock(m_p->mutex);
    std::map<std::pair<Ipv4, std::uint16_t>, std::string> found;
    for (const auto &[pinned, target] : m_p->pins)
        found.emplace(pinned, "pinned");
    for (const auto &[name, entry] : m_p->entries) {
        if (!entry.service || !entry.service->clusterIp)
            continue;
        for (const ServiceFacts::Port &port : entry.service->ports) {
            if (port.port != 0)
                found[{*entry.service->clusterIp, port.port}] = name.nameSpace + "/" + name.name;
        }
    }
    std::vector<ServicePort> ports;
    for (const auto &[key, service] : found)
        ports.push_back({service, key.first, key.second});
    return ports;
}

std::vector<ServiceProblem> ServiceTable::portsOfOtherProtocols() const
{
    std::vector<ServiceProblem> problems;
    const std::lock_guard lock(m_p->mutex);
    for (const auto &[name, entry] : m_p->entries) {
        if (!entry.service || !entry.service->clusterIp)
            continue;
        for (const std::string &port : entry.service->otherPorts)
            problems.push_back(
                {name.nameSpace, name.name, entry.service->uid,
                 "port " + port
                     + " is not forwarded: the local target joins TCP only. A headless Service "
                       "(clusterIP: None) leads to the pods themselves, with any protocol"});
    }
    return problems;
}

ServiceProblem ServiceTable::problemOf(Ipv4 clusterIp, std::string text) const
{
    ServiceProblem problem;
    problem.text = std::move(text);
    const std::lock_guard lock(m_p->mutex);
    const auto name = m_p->byClusterIp.find(clusterIp);
    if (name == m_p->byClusterIp.end())
        return problem;
    problem.nameSpace = name->second.nameSpace;
    problem.name = name->second.name;
    problem.uid = m_p->entries.at(name->second).service->uid;
    return problem;
}

void ServiceTable::onChanged(std::function<void()> changed)
{
    const std::lock_guard lock(m_p->changedMutex);
    m_p->changed = std::move(changed);
}

} // namespace cluster::local
