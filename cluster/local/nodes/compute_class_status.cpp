#include "cluster/local/nodes/compute_class_status.h"

#include "cluster/local/nodes/json_access.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

/// "2026-09-18 17:02:57 UTC"
std::string wallTime(UnixTime time)
{
    std::string text = timestamp(time);
    text[10] = ' ';
    text.pop_back();
    return text + " UTC";
}

/// Conditions of one list, one of each type, with the times of those that were there before.
class Conditions
{
public:
    Conditions(const Json &before, UnixTime now) : m_before(before), m_now(now) {}

    void add(const char *type, const char *reason, const std::string &message, bool isTrue = true)
    {
        const std::string status = isTrue ? "True" : "False";
        for (const Json &known : m_list) {
            if (known["type"] == type)
                return;
        }
        std::string since = timestamp(m_now);
        for (const Json &old : m_before) {
            if (text(old, "type") == type && text(old, "status") == status && text(old, "reason") == reason)
                since = text(old, "lastTransitionTime");
        }
        m_list.push_back({{"type", type},
                          {"status", status},
                          {"reason", reason},
                          {"message", message},
                          {"lastTransitionTime", since}});
    }
    [[nodiscard]] bool empty() const { return m_list.empty(); }
    [[nodiscard]] const Json &list() const { return m_list; }

private:
    const Json &m_before;
    UnixTime m_now;
    Json m_list = Json::array();
};

bool isNamed(const PoolSpec &pool, const std::string &className)
{
    const auto label = pool.labels.find(classLabel);
    return pool.computeClass == className || (label != pool.labels.end() && label->second == className);
}

bool hasTaintOf(const PoolSpec &pool, const std::string &className)
{
    return pool.computeClass == className || std::ranges::any_of(pool.taints, [&](const NodeTaint &taint) {
               return taint.key == classLabel && taint.value == className;
           });
}

std::string joined(const std::set<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
    return '[' + text + ']';
}

class ClassCheck
{
public:
    ClassCheck(const Json &computeClass, const ClassSurroundings &around, Conditions &conditions)
        : m_class(computeClass), m_around(around), m_conditions(conditions),
          m_name(text(at(computeClass, "metadata"), "name")), m_rules(rulesOf(m_name, computeClass))
    {
        for (const MachineOffer &offer : *around.offers)
            m_zones.insert(offer.zones.begin(), offer.zones.end());
    }

    void run()
    {
        for (const PoolWish &rule : m_rules) {
            checkPools(rule);
            checkZones(rule);
            checkMachine(rule);
        }
        checkReservations();
        checkLabelledPools();
        const bool hasPool = std::ranges::any_of(m_around.pools, [this](const PoolSpec &pool) {
            return (pool.isAutoscaled || pool.isAutoCreated) && isNamed(pool, m_name) && isOfAnyRule(pool);
        });
        if (!m_around.mayCreate && !hasPool)
            m_conditions.add("CrdMisconfigured", "NapDisabledAndNoMatchingNodegroups",
                             "Crd with NAP disabled should have at least one matching nodepool with "
                             "autoscaling enabled.");
    }

private:
    void checkPools(const PoolWish &rule)
    {
        for (const std::string &name : rule.nodePools) {
            const auto pool = std::ranges::find(m_around.pools, name, &PoolSpec::name);
            if (pool == m_around.pools.end() || !(pool->isAutoscaled || pool->isAutoCreated))
                m_conditions.add("CrdMisconfigured", "NodePoolNotExist",
                                 "Nodepool " + name
                                     + " specified by name has autoscaling disabled or doesn't exist in the "
                                       "cluster.");
        }
    }

    void checkZones(const PoolWish &rule)
    {
        for (const std::string &zone : rule.zones) {
            if (!m_zones.contains(zone))
                m_conditions.add("CrdMisconfigured", "LocationNotEnabledForAutoprovisioning",
                                 "Location " + zone
                                     + " specified in zonal preferences is not eligible for "
                                       "autoprovisioning. Available locations: "
                                     + joined(m_zones));
        }
    }

    void checkMachine(const PoolWish &rule)
    {
        const auto &offers = *m_around.offers;
        const std::string family = rule.machineFamily + '-';
        const auto isFamily = [&](const MachineOffer &offer) { return offer.name.starts_with(family); };
        if (!rule.machineType.empty() && !m_around.machine(rule.machineType))
            m_conditions.add("RuleMisconfigured", "MachineTypeNotFound",
                             "Machine type " + rule.machineType + " is not a known type.");
        else if (!rule.machineType.empty() && zonesOf(rule, offers).empty())
            m_conditions.add("RuleMisconfigured", "UnavailableMachineType",
                             "Machine type " + rule.machineType
                                 + " is not available in any of auto provisioned zones, last zone check "
                                   "error: machine type not found in zone");
        if (rule.machineFamily.empty())
            return;
        if (std::ranges::none_of(offers, isFamily))
            m_conditions.add("RuleMisconfigured", "MachineFamilyNotFound",
                             "Machine family " + rule.machineFamily + " is not a known family.");
        else if (std::ranges::none_of(offers, [&](const MachineOffer &offer) {
                     return isFamily(offer) && offer.shape.vcpu >= rule.minCores
                         && offer.shape.memoryGb >= rule.minMemoryGb;
                 }))
            m_conditions.add("RuleMisconfigured", "NoSuitableMachineExists",
                             "Machine type in the given machine family with at least "
                                 + std::to_string(static_cast<long>(rule.minCores)) + " cpu and "
                                 + std::to_string(static_cast<long>(rule.minMemoryGb))
                                 + " memory doesn't exist.");
    }

    /// Zones of a reservation are the reservation's own.
    void checkReservations()
    {
        for (const Json &rule : at(at(m_class, "spec"), "priorities")) {
            const Json &reservations = at(rule, "reservations");
            const bool hasZones = !at(at(rule, "location"), "zones").empty();
            if (!hasZones || text(reservations, "affinity") != "Specific")
                continue;
            for (const Json &specific : at(reservations, "specific"))
                m_conditions.add("RuleMisconfigured", "ReservationUnusable",
                                 "Reservation \"" + text(specific, "name")
                                     + "\" is incompatible with priority rule configuration (location config "
                                       "with specific reservations enabled).");
        }
    }

    void checkLabelledPools()
    {
        const bool isAnyway = text(at(m_class, "spec"), "whenUnsatisfiable") == "ScaleUpAnyway";
        for (const PoolSpec &pool : m_around.pools) {
            if (!isNamed(pool, m_name))
                continue;
            if (!hasTaintOf(pool, m_name))
                m_conditions.add("NodepoolMisconfigured", "TaintMissing",
                                 "Crd taint is missing for the nodepool " + pool.name + '.');
            if (isOfAnyRule(pool))
                continue;
            if (isAnyway)
                m_conditions.add("NodepoolMisconfigured", "NoRuleMatching",
                                 "Nodepool " + pool.name
                                     + " has an Crd label but doesn't match any priority rule.");
            else
                m_conditions.add("NodepoolMisconfigured", "NodepoolWillNeverScaleUp",
                                 "Nodepool " + pool.name
                                     + " doesn't match any priority rule and Crd is configured to not scale "
                                       "up in that case");
        }
    }

    [[nodiscard]] bool isOfAnyRule(const PoolSpec &pool) const
    {
        const std::optional<MachineShape> shape = m_around.machine(pool.machineType);
        return std::ranges::any_of(
            m_rules, [&](const PoolWish &rule) { return shape && isSuited(rule, pool, *shape); });
    }

    const Json &m_class;
    const ClassSurroundings &m_around;
    Conditions &m_conditions;
    std::string m_name;
    std::vector<PoolWish> m_rules;
    std::set<std::string> m_zones;
};

Json priorityStatus(std::size_t index, const RuleState &state, const Json &before, UnixTime now)
{
    const std::string identifier = std::to_string(index);
    Json old = Json::array();
    for (const Json &known : before) {
        if (text(known, "identifier") == identifier)
            old = at(known, "conditions");
    }
    Conditions conditions(old, now);
    if (!state.coming.empty())
        conditions.add("NodeProvisioningInProgress", "PodPending",
                       "New nodes will be added with config: {NodePool: " + state.coming + '}');
    if (!state.reason.empty() && state.isWhole)
        conditions.add("ProvisioningSuspended", state.reason.c_str(),
                       "NodeProvisioning associated with this priority failed due to the " + state.reason
                           + " error. Backing off the priority until " + wallTime(state.until) + '.');
    else if (!state.reason.empty())
        conditions.add("ProvisioningConstrained", state.reason.c_str(),
                       "NodeProvisioning of the node pools associated with this priority failed due to the "
                           + state.reason + " error. In backoff until " + wallTime(state.until) + '.');
    return Json{{"identifier", identifier}, {"conditions", conditions.list()}};
}

} // namespace

Json computeClassStatus(const Json &computeClass, const ClassSurroundings &around, UnixTime now)
{
    const Json &before = at(computeClass, "status");
    Conditions wrong(at(before, "conditions"), now);
    ClassCheck(computeClass, around, wrong).run();
    Conditions health(at(before, "conditions"), now);
    health.add("Health", "Health", wrong.empty() ? "Crd is healthy." : "Crd is not healthy.", wrong.empty());
    Json conditions = health.list();
    for (const Json &condition : wrong.list())
        conditions.push_back(condition);
    Json priorities = Json::array();
    for (std::size_t i = 0; i < around.rules.size(); ++i)
        priorities.push_back(priorityStatus(i, around.rules[i], at(before, "priorityStatuses"), now));
    return Json{{"conditions", conditions}, {"priorityStatuses", priorities}};
}

std::vector<std::string> zonesOf(const PoolWish &rule, const std::vector<MachineOffer> &offers)
{
    std::set<std::string> zones;
    for (const MachineOffer &offer : offers) {
        const bool isMachine = (rule.machineType.empty() || rule.machineType == offer.name)
            && (rule.machineFamily.empty() || offer.name.starts_with(rule.machineFamily + '-'))
            && (rule.gpuType.empty() || rule.gpuType == offer.gpuAccelerator)
            && (rule.tpuType.empty() || rule.tpuType == offer.tpuAccelerator);
        if (!isMachine || !rule.nodePools.empty())
            continue;
        for (const std::string &zone : offer.zones) {
            if (rule.zones.empty() || std::ranges::find(rule.zones, zone) != rule.zones.end())
                zones.insert(zone);
        }
    }
    return {zones.begin(), zones.end()};
}

} // namespace cluster::local
