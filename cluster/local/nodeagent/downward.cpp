#include "cluster/local/nodeagent/environment.h"
#include "cluster/local/nodeagent/json_fields.h"

#include <array>
#include <cmath>

// References to the pod itself (the downward API), and the TPU device plugin's variables.
namespace cluster::local {

using nlohmann::json;

namespace {

/// The quoted key of "metadata.labels['key']"; nothing for another path.
std::optional<std::string> subscript(const std::string &path, const std::string &prefix)
{
    if (!path.starts_with(prefix + "['") || !path.ends_with("']"))
        return std::nullopt;
    return path.substr(prefix.size() + 2, path.size() - prefix.size() - 4);
}

/// All of a map, as the downward API's files have it: key="escaped value" lines.
std::string mapText(const json &map)
{
    std::string text;
    if (!map.is_object())
        return text;
    for (const auto &[key, value] : map.items()) {
        if (value.is_string())
            text += (text.empty() ? "" : "\n") + key + "=" + value.dump();
    }
    return text;
}

int chipsOf(const json &node)
{
    const json &capacity = fieldOf(fieldOf(node, "status"), "capacity");
    return static_cast<int>(parseQuantity(fieldOf(capacity, "google.com/tpu")).value_or(0));
}

std::array<int, 3> dimensions(const std::string &topology)
{
    std::array<int, 3> sizes{1, 1, 1};
    std::size_t at = 0;
    for (int &size : sizes) {
        if (at >= topology.size())
            break;
        size = std::max(1, std::atoi(topology.c_str() + at));
        const std::size_t next = topology.find('x', at);
        at = next == std::string::npos ? topology.size() : next + 1;
    }
    return sizes;
}

std::string listed(const std::array<int, 3> &sizes)
{
    return std::to_string(sizes[0]) + "," + std::to_string(sizes[1]) + "," + std::to_string(sizes[2]);
}

std::string acceleratorType(const std::string &accelerator, int chips)
{
    if (accelerator.find("v5p") != std::string::npos)
        return "v5p-" + std::to_string(2 * chips);
    if (accelerator.find("v4") != std::string::npos)
        return "v4-" + std::to_string(2 * chips);
    if (accelerator.find("v5-lite") != std::string::npos)
        return "v5litepod-" + std::to_string(chips);
    if (accelerator.find("v6e") != std::string::npos)
        return "v6e-" + std::to_string(chips);
    return "tpu7x-" + std::to_string(2 * chips);
}

std::string wrapText(const std::array<int, 3> &sizes, bool isFlat)
{
    std::string text;
    const bool isCube = sizes[0] >= 4 && sizes[1] >= 4 && sizes[2] >= 4;
    for (const int size : sizes)
        text += std::string(text.empty() ? "" : ",") + ((isFlat ? size == 16 : isCube) ? "true" : "false");
    return text;
}

} // namespace

Result<std::string> fieldReference(const PodSpec &pod, const std::string &path, const std::string &podAddress,
                                   const std::string &hostAddress)
{
    const json &metadata = fieldOf(*pod.object, "metadata");
    if (const auto key = subscript(path, "metadata.labels"))
        return textOf(fieldOf(metadata, "labels"), *key);
    if (const auto key = subscript(path, "metadata.annotations"))
        return textOf(fieldOf(metadata, "annotations"), *key);
    if (path == "metadata.labels" || path == "metadata.annotations")
        return mapText(fieldOf(metadata, path.substr(9)));
    if (path == "metadata.name")
        return pod.name;
    if (path == "metadata.namespace")
        return pod.nameSpace;
    if (path == "metadata.uid")
        return pod.uid;
    if (path == "spec.nodeName")
        return pod.node;
    if (path == "spec.serviceAccountName")
        return textOf(fieldOf(*pod.object, "spec"), "serviceAccountName", "default");
    if (path == "status.podIP" || path == "status.podIPs")
        return podAddress;
    if (path == "status.hostIP" || path == "status.hostIPs")
        return hostAddress;
    return fail(ErrorCode::InvalidArgument, "unsupported fieldPath: " + path);
}

Result<std::string> resourceReference(const PodSpec &pod, const json &reference,
                                      const std::string &defaultContainer, const json &node)
{
    const std::string resource = textOf(reference, "resource");
    const std::size_t dot = resource.find('.');
    if (dot == std::string::npos)
        return fail(ErrorCode::InvalidArgument, "unsupported container resource: " + resource);
    const std::string list = resource.substr(0, dot), name = resource.substr(dot + 1);
    const std::string wanted = textOf(reference, "containerName", defaultContainer);
    std::optional<double> amount;
    for (const char *containers : {"initContainers", "containers", "ephemeralContainers"}) {
        for (const json &container : itemsOf(fieldOf(*pod.object, "spec"), containers)) {
            if (textOf(container, "name") == wanted)
                amount = parseQuantity(fieldOf(fieldOf(fieldOf(container, "resources"), list), name));
        }
    }
    if (!amount && list == "limits")
        amount = parseQuantity(fieldOf(fieldOf(fieldOf(node, "status"), "allocatable"), name));
    const double divisor = parseQuantity(fieldOf(reference, "divisor")).value_or(1);
    const double whole = std::ceil(amount.value_or(0) / (divisor > 0 ? divisor : 1));
    return std::to_string(static_cast<long long>(whole));
}

Environment tpuEnvironment(const json &node)
{
    const json &labels = fieldOf(fieldOf(node, "metadata"), "labels");
    const std::string accelerator = textOf(labels, "cloud.google.com/gke-tpu-accelerator");
    const std::string topology = textOf(labels, "cloud.google.com/gke-tpu-topology");
    const int onHost = chipsOf(node);
    if (accelerator.empty() || topology.empty() || onHost <= 0)
        return {};
    const std::array<int, 3> sizes = dimensions(topology);
    const int all = sizes[0] * sizes[1] * sizes[2];
    std::array<int, 3> host{2, onHost / 2, 1};
    if (onHost <= 2)
        host = {1, onHost, 1};
    std::array<int, 3> hosts{};
    for (std::size_t i = 0; i < 3; ++i)
        hosts[i] = std::max(1, sizes[i] / host[i]);
    const bool isFlat
        = accelerator.find("v5-lite") != std::string::npos || accelerator.find("v6e") != std::string::npos;
    std::string ports;
    for (int i = 0; i < onHost; ++i)
        ports += (i == 0 ? "" : ",") + std::to_string(8431 + i);
    Environment variables{
        {"TPU_SKIP_MDS_QUERY", "true"}, {"TPU_RUNTIME_METRICS_PORTS", ports},
        {"TPU_TOPOLOGY", topology},     {"TPU_ACCELERATOR_TYPE", acceleratorType(accelerator, all)},
        {"TPU_TOPOLOGY_ALT", "false"},  {"ALT", "false"},
    };
    for (const char *prefix : {"TPU_", ""}) {
        variables[std::string(prefix) + "CHIPS_PER_HOST_BOUNDS"] = listed(host);
        variables[std::string(prefix) + "HOST_BOUNDS"] = listed(hosts);
    }
    variables["TPU_TOPOLOGY_WRAP"] = variables["WRAP"] = wrapText(sizes, isFlat);
    if (all <= onHost && !accelerator.starts_with("tpu7x")) {
        variables["TPU_WORKER_ID"] = "0";
        variables["TPU_WORKER_HOSTNAMES"] = "localhost";
    }
    if (!isFlat && sizes[0] >= 4 && sizes[1] >= 4 && sizes[2] >= 4)
        variables["ENABLE_ICI_RESILIENCY"] = "true";
    return variables;
}

std::string decodeBase64(const std::string &text)
{
    std::string bytes;
    unsigned buffer = 0;
    int bits = 0;
    for (const char c : text) {
        int value = -1;
        if (c >= 'A' && c <= 'Z')
            value = c - 'A';
        else if (c >= 'a' && c <= 'z')
            value = c - 'a' + 26;
        else if (c >= '0' && c <= '9')
            value = c - '0' + 52;
        else if (c == '+')
            value = 62;
        else if (c == '/')
            value = 63;
        if (value < 0)
            continue;
        buffer = buffer << 6 | static_cast<unsigned>(value);
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        bytes += static_cast<char>(buffer >> bits & 0xFF);
    }
    return bytes;
}

} // namespace cluster::local
