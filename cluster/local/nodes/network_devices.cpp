#include "cluster/local/nodes/network_devices.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodes/node_names.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;

constexpr const char *driver = "dra.net";
constexpr const char *apiVersion = "resource.k8s.io/v1";

/// Cards beside the first one. ct6e: seen on a live node; the others: the machine types' documentation.
struct Cards
{
    std::string_view machineType; ///< or how it begins
    int count;
    bool isRdma;
};
constexpr Cards knownCards[] = {{"ct6e-standard-4t", 2, false}, {"ct6e-standard-8t", 2, false},
                                {"tpu7x-", 2, false},           {"a3-highgpu-8g", 4, false},
                                {"a3-megagpu-8g", 8, false},    {"a3-ultragpu-8g", 8, true},
                                {"a4-highgpu-8g", 8, true},     {"a4x-", 4, true}};

Cards cardsOf(const std::string &machineType)
{
    for (const Cards &cards : knownCards) {
        if (std::string_view(machineType).starts_with(cards.machineType))
            return cards;
    }
    return {{}, 0, false};
}

std::string twoDigits(int number)
{
    return (number < 10 ? "0" : "") + std::to_string(number);
}

Json device(const std::string &node, int number, bool isRdma)
{
    const std::string name = (isRdma ? "gpu" : "net") + std::to_string(isRdma ? number - 1 : number);
    // 100.64.0.0/10 plays the VPC of each card; as on Compute Engine the MAC is 42:01 and the address.
    const std::uint64_t hash = stableHash("mac/" + node + '/' + name);
    const int address[] = {100, 64 + static_cast<int>(hash % 64), static_cast<int>(hash / 64 % 256),
                           1 + static_cast<int>(hash / 64 / 256 % 254)};
    std::string mac = "42:01", ip;
    for (const int byte : address) {
        char digits[4];
        std::snprintf(digits, sizeof digits, ":%02x", static_cast<unsigned>(byte) & 0xffU);
        mac += digits;
        ip += (ip.empty() ? "" : ".") + std::to_string(byte);
    }
    const auto text = [](const std::string &value) { return Json{{"string", value}}; };
    const auto yesNo = [](bool value) { return Json{{"bool", value}}; };
    return Json{{"name", isRdma ? name + "rdma0" : name},
                {"attributes",
                 {{"dra.net/ifName", text(isRdma ? name + "rdma0" : name)},
                  {"dra.net/mac", text(mac)},
                  {"dra.net/ipv4", text(ip + "/32")},
                  {"dra.net/pciAddress", text("0000:" + twoDigits(number + 4) + ":00.0")},
                  {"dra.net/mtu", {{"int", 8896}}},
                  {"dra.net/rdma", yesNo(isRdma)},
                  {"dra.net/virtual", yesNo(false)},
                  {"dra.net/state", text("up")},
                  {"gce.dra.net/networkName", text("accelerator-net-" + std::to_string(number))}}}};
}

ResourcePath slicePath(const std::string &node)
{
    return apiGroup("resource.k8s.io", "v1", "resourceslices")
        .named(node + "-dra.net-" + stableHex("slice/" + node, 5));
}

template<typename Options>
Options within(const CancelToken &cancel)
{
    Options options;
    options.cancel = cancel;
    options.deadline = Deadline::after(std::chrono::seconds(30));
    return options;
}

} // namespace

bool hasNetworkDriver(const PoolSpec &pool)
{
    const auto label = pool.labels.find("cloud.google.com/gke-networking-dra-driver");
    return label != pool.labels.end() && label->second == "true";
}

Json networkSlice(const PoolSpec &pool, const std::string &node, const std::string &nodeUid)
{
    const Cards cards = cardsOf(pool.machineType);
    Json devices = Json::array();
    for (int i = 1; i <= cards.count; ++i)
        devices.push_back(device(node, i, cards.isRdma));
    return Json{{"apiVersion", apiVersion},
                {"kind", "ResourceSlice"},
                {"metadata",
                 {{"name", slicePath(node).name},
                  {"ownerReferences",
                   {{{"apiVersion", "v1"},
                     {"kind", "Node"},
                     {"name", node},
                     {"uid", nodeUid},
                     {"controller", true}}}}}},
                {"spec",
                 {{"driver", driver},
                  {"nodeName", node},
                  {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                  {"devices", std::move(devices)}}}};
}

std::vector<Json> networkDeviceClasses()
{
    const auto deviceClass = [](const char *name, const char *rdma) {
        const std::string expression = std::string("device.driver == \"") + driver
            + "\" && device.attributes[\"dra.net\"].rdma == " + rdma;
        return Json{{"apiVersion", apiVersion},
                    {"kind", "DeviceClass"},
                    {"metadata", {{"name", name}}},
                    {"spec", {{"selectors", {{{"cel", {{"expression", expression}}}}}}}}};
    };
    return {deviceClass("netdev.google.com", "false"), deviceClass("mrdma.google.com", "true")};
}

Status NetworkDevices::installClasses(const CancelToken &cancel)
{
    for (const Json &deviceClass : networkDeviceClasses()) {
        auto options = within<KubeApplyOptions>(cancel);
        options.fieldManager = "networking-dra-driver";
        options.force = true;
        const ResourcePath path = apiGroup("resource.k8s.io", "v1", "deviceclasses")
                                      .named(deviceClass.at("metadata").at("name").get<std::string>());
        const Result<Json> applied = m_client.apply(path, deviceClass, options);
        if (!applied && applied.error().code != ErrorCode::NotFound)
            return tl::unexpected(applied.error());
    }
    return {};
}

Status NetworkDevices::publish(const PoolSpec &pool, const std::string &node, const std::string &nodeUid,
                               const CancelToken &cancel)
{
    if (!hasNetworkDriver(pool))
        return {};
    const Json slice = networkSlice(pool, node, nodeUid);
    const auto options = within<KubeWriteOptions>(cancel);
    Result<Json> made = m_client.create(slicePath(node), slice, options);
    if (!made && made.error().code == ErrorCode::AlreadyExists) {
        const Result<Json> known = m_client.get(slicePath(node), options);
        if (known
            && known->value("metadata", Json::object()).value("ownerReferences", Json())
                == slice.at("metadata").at("ownerReferences"))
            return {};
        withdraw(node, cancel); // of an earlier node of this name
        made = m_client.create(slicePath(node), slice, options);
    }
    if (!made && made.error().code != ErrorCode::NotFound)
        return tl::unexpected(made.error());
    return {};
}

void NetworkDevices::withdraw(const std::string &node, const CancelToken &cancel)
{
    (void)m_client.remove(slicePath(node), within<KubeDeleteOptions>(cancel));
}

} // namespace cluster::local
