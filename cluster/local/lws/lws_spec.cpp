#include "cluster/local/lws/lws_spec.h"

#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <charconv>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::int64_t mostNumber = 1'000'000'000; // so that no product of two overflows

std::optional<std::int64_t> wholeNumber(std::string_view digits)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
        return std::nullopt;
    return number;
}

} // namespace

std::int64_t integerOf(const Json &object, const char *key, std::int64_t otherwise)
{
    const Json &value = at(object, key);
    if (value.is_number_integer())
        return std::clamp(value.get<std::int64_t>(), -mostNumber, mostNumber);
    if (value.is_string())
        return wholeNumber(value.get_ref<const std::string &>()).value_or(otherwise);
    return otherwise;
}

std::optional<std::int64_t> scaledValue(const Json &value, std::int64_t total, bool roundsUp)
{
    if (value.is_number_integer())
        return std::clamp(value.get<std::int64_t>(), -mostNumber, mostNumber);
    if (!value.is_string())
        return std::nullopt;
    std::string_view words = value.get_ref<const std::string &>();
    if (!words.ends_with('%'))
        return std::nullopt;
    words.remove_suffix(1);
    const auto percent = wholeNumber(words);
    if (!percent || *percent > mostNumber || *percent < -mostNumber)
        return std::nullopt;
    const std::int64_t hundredths = *percent * total;
    return roundsUp ? (hundredths + 99) / 100 : hundredths / 100;
}

std::string labelOf(const Json &object, const char *key)
{
    return text(at(at(object, "metadata"), "labels"), key);
}

std::string annotationOf(const Json &object, const char *key)
{
    return text(at(at(object, "metadata"), "annotations"), key);
}

const Json &groupTemplateOf(const Json &lws)
{
    return at(at(lws, "spec"), "leaderWorkerTemplate");
}

const Json &controllerOf(const Json &object)
{
    static const Json none;
    for (const Json &owner : at(at(object, "metadata"), "ownerReferences")) {
        const Json &isController = at(owner, "controller");
        if (isController.is_boolean() && isController.get<bool>())
            return owner;
    }
    return none;
}

PodOrdinal podOrdinal(const std::string &podName)
{
    const std::size_t dash = podName.rfind('-');
    if (dash == std::string::npos)
        return {};
    const auto ordinal = wholeNumber(std::string_view(podName).substr(dash + 1));
    if (!ordinal || *ordinal < 0)
        return {};
    return {podName.substr(0, dash), *ordinal};
}

LwsSpec lwsSpec(const Json &lws)
{
    const Json &metadata = at(lws, "metadata");
    const Json &wanted = at(lws, "spec");
    const Json &group = groupTemplateOf(lws);
    const Json &rollout = at(at(wanted, "rolloutStrategy"), "rollingUpdateConfiguration");
    LwsSpec spec;
    spec.name = text(metadata, "name");
    spec.nameSpace = text(metadata, "namespace");
    spec.uid = text(metadata, "uid");
    spec.generation = integerOf(metadata, "generation");
    spec.replicas = std::clamp<std::int64_t>(integerOf(wanted, "replicas", 1), 0, mostReplicas);
    spec.size = std::max<std::int64_t>(1, integerOf(group, "size", 1));
    spec.partition = std::max<std::int64_t>(0, integerOf(rollout, "partition"));
    spec.maxUnavailable = std::max<std::int64_t>(
        0, scaledValue(at(rollout, "maxUnavailable"), spec.replicas, false).value_or(1));
    spec.maxSurge = std::clamp<std::int64_t>(
        scaledValue(at(rollout, "maxSurge"), spec.replicas, true).value_or(0), 0, spec.replicas);
    spec.restartPolicy = text(group, "restartPolicy");
    if (spec.restartPolicy.empty())
        spec.restartPolicy = "RecreateGroupOnPodRestart";
    spec.startupPolicy = text(wanted, "startupPolicy");
    spec.hasOwnSubdomains = text(at(wanted, "networkConfig"), "subdomainPolicy") == "UniquePerReplica";
    return spec;
}

} // namespace cluster::local
