#include "cluster/local/lws/lws_validation.h"

#include "cluster/local/lws/lws_keys.h"
#include "cluster/local/lws/lws_spec.h"
#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

constexpr std::int64_t mostPods = 2'147'483'647;
constexpr std::size_t longestName = 63;
constexpr const char *labelPattern = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr const char *replicasPath = "spec.replicas";
constexpr const char *subGroupPath = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize";

/// What is wrong, in the order of the checks.
class Complaints
{
public:
    void invalid(const std::string &path, const Json &value, const std::string &why)
    {
        const std::string words = path
            + ": Invalid value: " + value.dump(-1, ' ', false, Json::error_handler_t::replace) + ": " + why;
        if (std::ranges::find(m_words, words) == m_words.end())
            m_words.push_back(words);
    }

    [[nodiscard]] Status status() const
    {
        if (m_words.empty())
            return {};
        std::string all;
        for (const std::string &words : m_words)
            all += (all.empty() ? "" : ", ") + words;
        return fail(ErrorCode::InvalidArgument, m_words.size() == 1 ? all : "[" + all + "]");
    }

private:
    std::vector<std::string> m_words;
};

/// The name is a Service's too.
void checkName(const Json &lws, Complaints &wrong)
{
    static const std::regex label(labelPattern);
    const std::string name = text(at(lws, "metadata"), "name");
    if (name.size() > longestName)
        wrong.invalid("metadata.name", name, "must be no more than 63 characters");
    // A long text would take the recursive matcher deep; only what it may be long is looked at.
    else if (!std::regex_match(name, label))
        wrong.invalid(
            "metadata.name", name,
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
            "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
            "'abc-123', regex used for validation is '"
                + std::string(labelPattern) + "')");
}

void checkCounts(std::int64_t replicas, std::int64_t size, Complaints &wrong)
{
    if (replicas < 0)
        wrong.invalid(replicasPath, replicas, "replicas must be equal or greater than 0");
    if (replicas > mostReplicas)
        wrong.invalid(replicasPath, replicas, "replicas must be equal or less than 1000000");
    if (size < 1)
        wrong.invalid("spec.leaderWorkerTemplate.size", size, "size must be equal or greater than 1");
    if (replicas * size > mostPods)
        wrong.invalid(replicasPath, replicas,
                      "the product of replicas and worker replicas must not exceed "
                          + std::to_string(mostPods));
}

bool isPercent(const std::string &words)
{
    return words.size() > 1 && words.back() == '%'
        && std::all_of(words.begin(), words.end() - 1, [](char c) { return c >= '0' && c <= '9'; });
}

void checkShare(const Json &value, const std::string &path, Complaints &wrong)
{
    if (value.is_string()) {
        const std::string words = value.get<std::string>();
        if (!isPercent(words))
            wrong.invalid(
                path, value,
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
                "'93%', regex used for validation is '[0-9]+%')");
        else if (scaledValue(value, 100, false).value_or(mostPods) > 100)
            wrong.invalid(path, value, "must not be greater than 100%");
    } else if (value.is_number_integer() && value.get<std::int64_t>() < 0) {
        wrong.invalid(path, value, "must be greater than or equal to 0");
    }
}

void checkRollout(const Json &rollout, std::int64_t replicas, Complaints &wrong)
{
    const std::string path = "spec.rolloutStrategy.rollingUpdateConfiguration.";
    static const Json one = 1, zero = 0;
    const Json &unavailable = at(rollout, "maxUnavailable").is_null() ? one : at(rollout, "maxUnavailable");
    const Json &surge = at(rollout, "maxSurge").is_null() ? zero : at(rollout, "maxSurge");
    checkShare(unavailable, path + "maxUnavailable", wrong);
    checkShare(surge, path + "maxSurge", wrong);
    if (const std::int64_t partition = integerOf(rollout, "partition"); partition < 0)
        wrong.invalid(path + "partition", partition, "must be greater than or equal to 0");
    const auto mayMiss = scaledValue(unavailable, replicas, false);
    const auto mayExceed = scaledValue(surge, replicas, true);
    if (!mayMiss)
        wrong.invalid(path + "maxUnavailable", unavailable, "invalid value");
    if (!mayExceed)
        wrong.invalid(path + "maxSurge", surge, "invalid value");
    if (mayMiss.value_or(0) == 0 && mayExceed.value_or(0) == 0 && replicas != 0)
        wrong.invalid(path + "maxUnavailable", unavailable, "must not be 0 when `maxSurge` is 0");
}

void checkSubGroups(const Json &policy, std::int64_t size, Complaints &wrong)
{
    const std::int64_t part = integerOf(policy, "subGroupSize");
    if (part < 1) {
        wrong.invalid(subGroupPath, part, "subGroupSize must be equal or greater than 1");
        return; // of the rest nothing can be said: the real one's handler fails here
    }
    if (size % part != 0 && (size - 1) % part != 0)
        wrong.invalid(subGroupPath, part, "size or size - 1 must be divisible by subGroupSize");
    if (size < part)
        wrong.invalid(subGroupPath, part, "subGroupSize cannot be larger than size");
    if (text(policy, "subGroupPolicyType") == "LeaderExcluded" && (size - 1) % part != 0)
        wrong.invalid(subGroupPath, part,
                      "size-1 must be divisible by subGroupSize when using LeaderExcluded");
}

void checkSubGroupChange(const Json &policy, const Json &oldPolicy, Complaints &wrong)
{
    const std::int64_t part = integerOf(policy, "subGroupSize"),
                       oldPart = integerOf(oldPolicy, "subGroupSize");
    if (policy.is_object() && oldPolicy.is_object() && part != oldPart)
        wrong.invalid(subGroupPath, part, "field is immutable");
    if (policy.is_object() && !oldPolicy.is_object())
        wrong.invalid(subGroupPath, part, "cannot enable subGroupSize after the lws is already created");
    if (!policy.is_object() && oldPolicy.is_object())
        wrong.invalid(subGroupPath, oldPart, "cannot remove subGroupSize after enabled");
}

} // namespace

Status checkLeaderWorkerSet(const Json &lws, const Json &old)
{
    Complaints wrong;
    const Json &group = groupTemplateOf(lws);
    const Json &policy = at(group, "subGroupPolicy");
    const std::int64_t replicas = integerOf(at(lws, "spec"), "replicas", 1),
                       size = integerOf(group, "size", 1);
    checkName(lws, wrong);
    checkCounts(replicas, size, wrong);
    checkRollout(at(at(at(lws, "spec"), "rolloutStrategy"), "rollingUpdateConfiguration"), replicas, wrong);
    if (policy.is_object())
        checkSubGroups(policy, size, wrong);
    else if (const Json &topology = at(at(at(lws, "metadata"), "annotations"), lws_keys::subGroupTopology);
             topology.is_string())
        wrong.invalid(std::string("metadata.annotations.") + lws_keys::subGroupTopology, topology,
                      "cannot have subgroup-exclusive-topology without subGroupSize set");
    if (old.is_object())
        checkSubGroupChange(policy, at(groupTemplateOf(old), "subGroupPolicy"), wrong);
    return wrong.status();
}

} // namespace cluster::local
