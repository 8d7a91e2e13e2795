#include "cluster/local/network/service_objects.h"

#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

const Json &member(const Json &object, const char *name)
{
    static const Json none;
    if (!object.is_object())
        return none;
    const auto found = object.find(name);
    return found == object.end() ? none : *found;
}

std::string text(const Json &object, const char *name)
{
    const Json &value = member(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::vector<ServiceFacts::Port> tcpPorts(const Json &list)
{
    std::vector<ServiceFacts::Port> ports;
    if (!list.is_array())
        return ports;
    for (const Json &entry : list) {
        const std::string protocol = text(entry, "protocol");
        if (!protocol.empty() && protocol != "TCP")
            continue;
        const Json &number = member(entry, "port");
        const bool isPort = number.is_number_integer() && number >= 0 && number <= 65535;
        ports.push_back({text(entry, "name"), isPort ? number.get<std::uint16_t>() : std::uint16_t{0}});
    }
    return ports;
}

std::vector<std::string> otherPorts(const Json &list)
{
    std::vector<std::string> ports;
    if (!list.is_array())
        return ports;
    for (const Json &entry : list) {
        const std::string protocol = text(entry, "protocol");
        const Json &number = member(entry, "port");
        if (!protocol.empty() && protocol != "TCP" && number.is_number_integer())
            ports.push_back(std::to_string(number.get<std::int64_t>()) + "/" + protocol);
    }
    return ports;
}

} // namespace

ServiceFacts readService(const Json &service)
{
    const Json &metadata = member(service, "metadata");
    const Json &spec = member(service, "spec");
    ServiceFacts facts;
    facts.nameSpace = text(metadata, "namespace");
    facts.name = text(metadata, "name");
    facts.clusterIp = Ipv4::parse(text(spec, "clusterIP")); // "None" and "" are no addresses
    if (text(spec, "type") == "ExternalName")
        facts.externalName = text(spec, "externalName");
    facts.uid = text(metadata, "uid");
    facts.ports = tcpPorts(member(spec, "ports"));
    facts.otherPorts = otherPorts(member(spec, "ports"));
    return facts;
}

EndpointSliceFacts readEndpointSlice(const Json &slice)
{
    const Json &metadata = member(slice, "metadata");
    EndpointSliceFacts facts;
    facts.nameSpace = text(metadata, "namespace");
    facts.name = text(metadata, "name");
    facts.service = text(member(metadata, "labels"), "kubernetes.io/service-name");
    facts.ports = tcpPorts(member(slice, "ports"));
    const Json &endpoints = member(slice, "endpoints");
    if (!endpoints.is_array())
        return facts;
    for (const Json &entry : endpoints) {
        const Json &addresses = member(entry, "addresses");
        if (!addresses.is_array() || addresses.empty() || !addresses[0].is_string())
            continue;
        // Validation has it that all addresses of one endpoint are the same server; the first is enough.
        const auto address = Ipv4::parse(addresses[0].get_ref<const std::string &>());
        if (!address)
            continue;
        const Json &ready = member(member(entry, "conditions"), "ready");
        facts.endpoints.push_back(
            {*address, text(entry, "hostname"), !ready.is_boolean() || ready.get<bool>()});
    }
    return facts;
}

} // namespace cluster::local
