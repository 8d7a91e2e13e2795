#include "cluster/local/nodeagent/claim_checkpoint.h"

#include "cluster/local/nodeagent/json_fields.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace cluster::local {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *kind = "DRACheckpoint";

json deviceJson(const ClaimedDevice &device)
{
    return {{"driver", device.driver},
            {"pool", device.pool},
            {"device", device.device},
            {"interfaceName", device.interfaceName},
            {"hardwareAddress", device.hardwareAddress},
            {"ips", device.addresses},
            {"rdma", device.isRdma}};
}

ClaimedDevice deviceFrom(const json &entry)
{
    ClaimedDevice device;
    device.driver = textOf(entry, "driver");
    device.pool = textOf(entry, "pool");
    device.device = textOf(entry, "device");
    device.interfaceName = textOf(entry, "interfaceName");
    device.hardwareAddress = textOf(entry, "hardwareAddress");
    device.addresses = textsOf(entry, "ips");
    device.isRdma = flagOf(entry, "rdma");
    return device;
}

json claimJson(const HeldClaim &claim)
{
    json entry{{"claimUID", claim.uid},
               {"claimName", claim.name},
               {"namespace", claim.nameSpace},
               {"podUIDs", claim.pods},
               {"devices", json::array()}};
    if (claim.isPrepared)
        entry["preparedAt"] = secondsText(claim.preparedAt);
    for (const ClaimedDevice &device : claim.devices)
        entry["devices"].push_back(deviceJson(device));
    return entry;
}

HeldClaim claimFrom(const json &entry)
{
    HeldClaim claim;
    claim.uid = textOf(entry, "claimUID");
    claim.name = textOf(entry, "claimName");
    claim.nameSpace = textOf(entry, "namespace");
    for (std::string &pod : textsOf(entry, "podUIDs"))
        claim.pods.insert(std::move(pod));
    if (const auto since = parseTime(textOf(entry, "preparedAt"))) {
        claim.isPrepared = true;
        claim.preparedAt = *since;
    }
    for (const json &device : itemsOf(entry, "devices"))
        claim.devices.push_back(deviceFrom(device));
    return claim;
}

bool writeAll(int file, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t size = ::write(file, text.data(), text.size());
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return false;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
}

} // namespace

Result<HeldClaims> readClaimCheckpoint(const fs::path &file)
{
    std::ifstream stream(file);
    if (!stream)
        return HeldClaims{};
    std::stringstream text;
    text << stream.rdbuf();
    const json state = json::parse(text.str(), nullptr, false);
    if (textOf(state, "kind") != kind || !fieldOf(state, "claims").is_array())
        return fail(ErrorCode::DataLoss, "'" + file.string() + "' is no record of prepared claims");
    HeldClaims claims;
    for (const json &entry : state["claims"]) {
        HeldClaim claim = claimFrom(entry);
        if (claim.uid.empty() || claim.name.empty() || claim.nameSpace.empty())
            return fail(ErrorCode::DataLoss, "'" + file.string() + "' has a claim without a name");
        claims[claim.nameSpace + "/" + claim.name] = std::move(claim);
    }
    return claims;
}

Status writeClaimCheckpoint(const fs::path &file, const HeldClaims &claims)
{
    json state{{"kind", kind}, {"apiVersion", "checkpoint.dra.kubelet.k8s.io/v1"}, {"claims", json::array()}};
    for (const auto &[key, claim] : claims)
        state["claims"].push_back(claimJson(claim));
    const fs::path fresh = file.string() + ".new";
    const int handle = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const bool isWritten = handle >= 0 && writeAll(handle, state.dump()) && ::fsync(handle) == 0;
    const int reason = errno;
    if (handle >= 0)
        ::close(handle);
    if (!isWritten || ::rename(fresh.c_str(), file.c_str()) != 0)
        return fail(ErrorCode::ResourceExhausted,
                    "can't write '" + file.string() + "': " + std::strerror(isWritten ? errno : reason));
    return {};
}

} // namespace cluster::local
