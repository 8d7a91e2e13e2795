#include "cluster/local/nodeagent/network_claim.h"

#include "cluster/local/nodeagent/json_fields.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstdlib>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t longestInterfaceName = 15; // IFNAMSIZ - 1

std::string nameFault(const std::string &name)
{
    const std::string where = "interface.name: name '" + name + "' ";
    if (name.size() > longestInterfaceName)
        return where + "exceeds maximum length of " + std::to_string(longestInterfaceName) + " characters";
    if (name.find('/') != std::string::npos)
        return where + "cannot contain '/'";
    if (name == "." || name == "..")
        return where + "cannot be '.' or '..'";
    for (const char letter : name) {
        if (std::isspace(static_cast<unsigned char>(letter)) != 0)
            return where + "cannot contain whitespace";
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-' && letter != '_'
            && letter != '.')
            return where + "contains invalid character '" + letter + "'";
    }
    return {};
}

bool isPrefix(const std::string &text)
{
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos || slash + 1 == text.size())
        return false;
    const std::string address = text.substr(0, slash), length = text.substr(slash + 1);
    unsigned char bytes[16];
    const bool isIpv4 = ::inet_pton(AF_INET, address.c_str(), bytes) == 1;
    if (!isIpv4 && ::inet_pton(AF_INET6, address.c_str(), bytes) != 1)
        return false;
    const bool isNumber = length.size() <= 3 && length.find_first_not_of("0123456789") == std::string::npos;
    return isNumber && std::atoi(length.c_str()) <= (isIpv4 ? 32 : 128);
}

/// The driver's own parameters for a request; null where the claim has none.
const json &configOf(const json &allocated, const std::string &request)
{
    for (const json &config : itemsOf(allocated, "config")) {
        const json &opaque = fieldOf(config, "opaque");
        const std::vector<std::string> requests = textsOf(config, "requests");
        const bool isFor
            = requests.empty() || std::find(requests.begin(), requests.end(), request) != requests.end();
        if (textOf(opaque, "driver") == networkDriver && isFor)
            return fieldOf(opaque, "parameters");
    }
    return fieldOf(allocated, "");
}

const json &attributesOf(const std::vector<json> &slices, const std::string &pool, const std::string &device)
{
    for (const json &slice : slices) {
        const json &spec = fieldOf(slice, "spec");
        if (textOf(spec, "driver") != networkDriver || textOf(fieldOf(spec, "pool"), "name") != pool)
            continue;
        for (const json &entry : itemsOf(spec, "devices")) {
            if (textOf(entry, "name") == device)
                return fieldOf(entry, "attributes");
        }
    }
    return fieldOf(json(), "");
}

std::string text(const json &attributes, const char *name)
{
    return textOf(fieldOf(attributes, name), "string");
}

/// Adds the faults of the parameters to `faults`.
void configure(ClaimedDevice &device, const json &parameters, std::vector<std::string> &faults)
{
    const json &interface = fieldOf(parameters, "interface");
    if (const std::string name = textOf(interface, "name"); !name.empty()) {
        if (const std::string fault = nameFault(name); !fault.empty())
            faults.push_back(fault);
        device.interfaceName = name;
    }
    const std::vector<std::string> addresses = textsOf(interface, "addresses");
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (!isPrefix(addresses[i]))
            faults.push_back("interface.addresses[" + std::to_string(i) + "]: invalid IP CIDR format '"
                             + addresses[i] + "'");
    }
    if (!addresses.empty() && flagOf(interface, "dhcp"))
        faults.emplace_back("interface: dhcp and addresses are mutually exclusive");
    if (!addresses.empty())
        device.addresses = addresses;
    if (const std::string hardware = textOf(interface, "hardwareAddress"); !hardware.empty())
        device.hardwareAddress = hardware;
}

json condition(const char *type, const char *reason, Time since)
{
    return {{"type", type},
            {"status", "True"},
            {"reason", reason},
            {"message", ""},
            {"lastTransitionTime", secondsText(since)}};
}

} // namespace

Result<std::vector<ClaimedDevice>> networkDevicesOf(const json &claim, const std::vector<json> &slices)
{
    const json &allocated = fieldOf(fieldOf(fieldOf(claim, "status"), "allocation"), "devices");
    std::vector<ClaimedDevice> devices;
    std::vector<std::string> faults;
    for (const json &result : itemsOf(allocated, "results")) {
        if (textOf(result, "driver") != networkDriver)
            continue; // another driver's, beside ours in the same claim
        ClaimedDevice device;
        device.driver = networkDriver;
        device.pool = textOf(result, "pool");
        device.device = textOf(result, "device");
        const json &attributes = attributesOf(slices, device.pool, device.device);
        device.interfaceName = text(attributes, "dra.net/ifName");
        if (device.interfaceName.empty()) {
            faults.push_back("failed to get network interface name for device " + device.device
                             + ": device not found in store");
            continue;
        }
        device.hardwareAddress = text(attributes, "dra.net/mac");
        device.isRdma = flagOf(fieldOf(attributes, "dra.net/rdma"), "bool");
        if (const std::string address = text(attributes, "dra.net/ipv4"); !address.empty())
            device.addresses = {address};
        configure(device, configOf(allocated, textOf(result, "request")), faults);
        devices.push_back(std::move(device));
    }
    if (faults.empty())
        return devices;
    std::string all;
    for (const std::string &fault : faults)
        all += (all.empty() ? "" : "\n") + fault;
    return fail(ErrorCode::InvalidArgument,
                "claim " + textOf(fieldOf(claim, "metadata"), "uid") + " contain errors: " + all);
}

json networkClaimStatus(const HeldClaim &claim)
{
    json devices = json::array();
    for (const ClaimedDevice &device : claim.devices) {
        json entry{{"driver", device.driver},
                   {"pool", device.pool},
                   {"device", device.device},
                   {"conditions",
                    {condition("Ready", "NetworkDeviceReady", claim.preparedAt),
                     condition("NetworkReady", "NetworkReady", claim.preparedAt)}},
                   {"networkData",
                    {{"interfaceName", device.interfaceName}, {"hardwareAddress", device.hardwareAddress}}}};
        if (device.isRdma)
            entry["conditions"].push_back(condition("RDMALinkReady", "RDMALinkReady", claim.preparedAt));
        if (!device.addresses.empty())
            entry["networkData"]["ips"] = device.addresses;
        devices.push_back(std::move(entry));
    }
    return {{"apiVersion", "resource.k8s.io/v1"},
            {"kind", "ResourceClaim"},
            {"metadata", {{"name", claim.name}, {"namespace", claim.nameSpace}}},
            {"status", {{"devices", std::move(devices)}}}};
}

} // namespace cluster::local
