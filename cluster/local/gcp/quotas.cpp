#include "cluster/local/gcp/quotas.h"

#include "cluster/local/gcp/documents.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>
#include <utility>

namespace cluster::local {

namespace {

auto fieldsOf(const QuotaKey &key)
{
    return std::tie(key.name.id, key.name.metric, key.name.family, key.region, key.zone);
}

std::string documentKey(const std::string &project, const QuotaKey &key)
{
    const std::string name = key.name.id.empty() ? key.name.metric : key.name.id;
    return "quotas/" + project + "/" + name + "/" + key.region + key.zone + "/" + key.name.family;
}

QuotaName regionalName(const std::string &metric)
{
    std::string id = metric;
    std::replace(id.begin(), id.end(), '_', '-');
    return {id + "-per-project-region", metric, {}};
}

QuotaName globalName(const std::string &metric)
{
    std::string id = metric;
    std::replace(id.begin(), id.end(), '_', '-');
    return {id + "-per-project", metric, {}};
}

/// v5e's chips are counted by region and by zone too; it is the only one.
std::optional<QuotaName> zonalName(const QuotaName &regional)
{
    if (regional.id != "TPU-LITE-PODSLICE-V5-per-project-region")
        return std::nullopt;
    return QuotaName{"TPU-LITE-PODSLICE-V5-per-project-zone", regional.metric, {}};
}

/// Where a quota counts, in the words of errors.
const char *scopeOf(const QuotaKey &key)
{
    return !key.zone.empty() ? "zonal" : key.region.empty() ? "project" : "regional";
}

/// "16.0", as GKE prints amounts.
std::string amount(double value)
{
    char text[48];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

} // namespace

bool QuotaKey::operator<(const QuotaKey &other) const
{
    return fieldsOf(*this) < fieldsOf(other);
}

bool QuotaKey::operator==(const QuotaKey &other) const
{
    return fieldsOf(*this) == fieldsOf(other);
}

Quotas::Quotas(Documents &documents, const ComputeCatalog &catalog, Usage usage)
    : m_documents(documents), m_catalog(catalog), m_usage(std::move(usage))
{
}

void Quotas::setUsage(Usage usage)
{
    m_usage = std::move(usage);
}

std::int64_t Quotas::defaultLimit(const QuotaKey &key) const
{
    const DefaultLimits &limits = m_catalog.limits();
    const auto &plain = key.region.empty() && key.zone.empty() ? limits.global : limits.regional;
    if (const auto found = plain.find(key.name.metric); found != plain.end())
        return found->second;
    for (const Accelerator &accelerator : m_catalog.accelerators()) {
        if (!key.name.id.empty() && accelerator.preemptibleQuota.id == key.name.id)
            return limits.preemptible;
        const auto zonal = zonalName(accelerator.quota);
        const bool isZonal = zonal && zonal->id == key.name.id;
        if (isZonal || (accelerator.quota.id == key.name.id && accelerator.quota.family == key.name.family))
            return accelerator.isTpu ? limits.tpuChips : limits.gpus;
    }
    return 0; // Google's answer where no row exists
}

std::int64_t Quotas::limit(const std::string &project, const QuotaKey &key) const
{
    const auto document = m_documents.get(documentKey(project, key));
    if (document && *document)
        return (*document)->value.value("limit", std::int64_t{0});
    return defaultLimit(key);
}

std::int64_t Quotas::usage(const std::string &project, const QuotaKey &key) const
{
    return m_usage ? static_cast<std::int64_t>(std::ceil(m_usage(project, key))) : 0;
}

Status Quotas::setLimit(const std::string &project, const QuotaKey &key, std::int64_t limit)
{
    if (limit < 0)
        return fail(ErrorCode::InvalidArgument,
                    "a quota of " + std::to_string(limit) + " is no quota: give 0 or more");
    const auto written = m_documents.put(documentKey(project, key), {{"limit", limit}});
    return written ? Status{} : tl::unexpected(written.error());
}

std::vector<QuotaDemand> Quotas::demandOf(const std::string &machineType, const std::string &zone,
                                          bool preemptible) const
{
    const auto machine = m_catalog.machine(machineType);
    if (!machine)
        return {};
    const std::string region = regionOfZone(zone);
    if (machine->accelerator.empty())
        return {{{regionalName("CPUS"), region}, static_cast<double>(machine->vcpu)},
                {{globalName("CPUS_ALL_REGIONS"), {}}, static_cast<double>(machine->vcpu)}};
    const Accelerator *accelerator = m_catalog.accelerator(machine->accelerator);
    const bool hasOwn = preemptible && !accelerator->preemptibleQuota.id.empty();
    const QuotaName name = hasOwn ? accelerator->preemptibleQuota : accelerator->quota;
    std::vector<QuotaDemand> demand{{{name, region}, machine->acceleratorCount}};
    if (const auto zonal = zonalName(name); zonal && zone != region)
        demand.push_back({{*zonal, {}, zone}, machine->acceleratorCount});
    if (!accelerator->isTpu && !preemptible)
        demand.push_back({{globalName("GPUS_ALL_REGIONS"), {}}, machine->acceleratorCount});
    return demand;
}

Status Quotas::check(const std::string &project, const std::string &machineType, const std::string &zone,
                     bool preemptible, std::int64_t nodes, const OtherLimit &otherLimit) const
{
    std::vector<std::string> lacks;
    for (const QuotaDemand &demand : demandOf(machineType, zone, preemptible)) {
        const double asked = demand.perNode * static_cast<double>(nodes);
        const auto other = otherLimit ? otherLimit(demand.key) : std::nullopt;
        const auto limit = static_cast<double>(other ? *other : this->limit(project, demand.key));
        const double available = std::max(0.0, limit - static_cast<double>(usage(project, demand.key)));
        if (asked <= available)
            continue;
        lacks.push_back(std::string("nsufficient ") + scopeOf(demand.key)
                        + " quota to satisfy request: resource \"" + demand.key.name.metric
                        + "\": request requires '" + amount(asked) + "' and is short '"
                        + amount(asked - available) + "'. project has a quota of '" + amount(limit)
                        + "' with '" + amount(available)
                        + "' available. View and manage quotas at "
                          "https://console.cloud.google.com/iam-admin/quotas?usage=USED&project="
                        + project);
    }
    if (lacks.empty())
        return {};
    std::string text = "I" + lacks.front();
    if (lacks.size() > 1) {
        text.clear();
        for (std::size_t i = 0; i < lacks.size(); ++i)
            text += "\n\t(" + std::to_string(i + 1) + ") i" + lacks[i];
    }
    return fail(ErrorCode::PermissionDenied, text + ".");
}

QuotaValue Quotas::valueOf(const std::string &project, QuotaKey key) const
{
    QuotaValue value{std::move(key), 0, 0};
    value.limit = limit(project, value.key);
    value.usage = usage(project, value.key);
    return value;
}

std::vector<QuotaValue> Quotas::ofRegion(const std::string &project, const std::string &region) const
{
    std::set<QuotaKey> keys;
    for (const auto &[metric, ignored] : m_catalog.limits().regional)
        keys.insert({regionalName(metric), region});
    for (const Accelerator &accelerator : m_catalog.accelerators()) {
        const bool isHere
            = std::any_of(accelerator.zones.begin(), accelerator.zones.end(),
                          [&](const std::string &zone) { return regionOfZone(zone) == region; });
        if (!isHere)
            continue;
        keys.insert({accelerator.quota, region});
        if (const auto zonal = zonalName(accelerator.quota)) {
            for (const std::string &zone : accelerator.zones) {
                if (regionOfZone(zone) == region)
                    keys.insert({*zonal, {}, zone});
            }
        }
        if (!accelerator.preemptibleQuota.id.empty())
            keys.insert({accelerator.preemptibleQuota, region});
    }
    std::vector<QuotaValue> values;
    for (const QuotaKey &key : keys)
        values.push_back(valueOf(project, key));
    return values;
}

std::vector<QuotaValue> Quotas::ofProject(const std::string &project) const
{
    std::vector<QuotaValue> values;
    for (const auto &[metric, ignored] : m_catalog.limits().global)
        values.push_back(valueOf(project, {globalName(metric), {}}));
    return values;
}

} // namespace cluster::local
