#include "cluster/local/gcp/host_faults.h"

#include <algorithm>
#include <optional>

namespace cluster::local {

namespace {

std::optional<HostFault::Kind> hostKind(const Fault &fault)
{
    switch (fault.kind) {
    case FaultKind::HostLost:
        return HostFault::Kind::HostLost;
    case FaultKind::Maintenance:
        return HostFault::Kind::Maintenance;
    case FaultKind::Preemption:
        return HostFault::Kind::Preemption;
    case FaultKind::DiskFull:
        // Without a cluster it is the disk of Google's services.
        return fault.cluster.empty() ? std::nullopt : std::optional(HostFault::Kind::DiskFull);
    default:
        return std::nullopt;
    }
}

} // namespace

HostFaults::Outcome HostFaults::apply(const Fault &fault, bool active)
{
    const auto kind = hostKind(fault);
    const auto clusters = m_store.clusters("-", "-");
    Outcome outcome = Outcome::NobodyMeant;
    if (!kind || !clusters)
        return outcome;
    for (const ClusterRecord &cluster : *clusters) {
        const bool isMeant = (fault.cluster.empty() || fault.cluster == cluster.key.name)
            && (fault.location.empty() || cluster.key.location.starts_with(fault.location));
        if (!isMeant)
            continue;
        if (m_host.apply(cluster.id, {*kind, fault.pool, fault.host, active}))
            outcome = Outcome::Applied;
        else if (outcome == Outcome::NobodyMeant)
            outcome = Outcome::Refused;
    }
    return outcome;
}

bool HostFaults::synchronize()
{
    const std::lock_guard lock(m_mutex);
    const auto ordered = m_faults.list();
    if (!ordered)
        return true;
    bool isDone = true;
    for (const Fault &fault : *ordered) {
        if (!hostKind(fault) || m_applied.contains(fault.id))
            continue;
        const Outcome outcome = fault.struck > 0 ? Outcome::Applied : apply(fault, true);
        isDone &= outcome != Outcome::Refused;
        if (outcome != Outcome::Applied)
            continue; // a cluster that is not there yet has nothing to suffer
        if (fault.times > 0) {
            static_cast<void>(m_faults.remove(fault.id));
            continue;
        }
        m_applied.emplace(fault.id, fault);
        if (fault.struck == 0)
            m_faults.countStrike(fault.id);
    }
    for (auto it = m_applied.begin(); it != m_applied.end();) {
        const bool isOrdered = std::any_of(ordered->begin(), ordered->end(),
                                           [&](const Fault &fault) { return fault.id == it->first; });
        if (!isOrdered)
            apply(it->second, false);
        it = isOrdered ? std::next(it) : m_applied.erase(it);
    }
    return isDone;
}

} // namespace cluster::local
