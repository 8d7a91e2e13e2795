#pragma once

#include "cluster/base/result.h"
#include "cluster/local/gcp/compute_catalog.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cluster::local {

class Documents;

/// Which quota of a project: its name and place.
struct QuotaKey
{
    QuotaName name;
    std::string region; ///< empty: of the whole project, or of a zone
    std::string zone = {}; ///< of the few that count by zone (v5e has one of either)

    bool operator<(const QuotaKey &other) const;
    bool operator==(const QuotaKey &other) const;
};

/// What one VM takes.
struct QuotaDemand
{
    QuotaKey key;
    double perNode = 0; ///< chips, GPUs or vCPUs
};

struct QuotaValue
{
    QuotaKey key;
    std::int64_t limit = 0;
    std::int64_t usage = 0;
};

/// Limits of compute.googleapis.com. Each is a setting of this target, kept with its other documents; what is
/// not set has the catalogue's default. Thread-safe.
class Quotas
{
public:
    /// How much of a quota a project uses now: who owns the node pools knows. Called from any thread.
    using Usage = std::function<double(const std::string &project, const QuotaKey &key)>;

    Quotas(Documents &documents, const ComputeCatalog &catalog, Usage usage);
    void setUsage(Usage usage); ///< before requests come in

    [[nodiscard]] std::int64_t limit(const std::string &project, const QuotaKey &key) const;
    [[nodiscard]] std::int64_t usage(const std::string &project, const QuotaKey &key) const; ///< rounded up
    /// Errors: those of Documents; InvalidArgument for a negative limit.
    Status setLimit(const std::string &project, const QuotaKey &key, std::int64_t limit);

    /// What a VM of this type in this zone (or region) draws: its accelerators, and CPUS for types without.
    /// Preemptible: spot and flex-start. Empty for an unknown type.
    [[nodiscard]] std::vector<QuotaDemand> demandOf(const std::string &machineType, const std::string &zone,
                                                    bool preemptible) const;

    /// Another limit than the project's (a fault on order); nothing: its own.
    using OtherLimit = std::function<std::optional<std::int64_t>(const QuotaKey &)>;

    /// GKE's check before a pool is made. Errors: PermissionDenied (403, as GKE answers) with its words:
    /// `Insufficient regional quota to satisfy request: resource "X": request requires 'A' and is short 'B'.
    /// project has a quota of 'C' with 'D' available. ...`, or a numbered list where several are short.
    [[nodiscard]] Status check(const std::string &project, const std::string &machineType,
                               const std::string &zone, bool preemptible, std::int64_t nodes,
                               const OtherLimit &otherLimit = {}) const;

    /// All quotas that a region has (for regions.get and Cloud Quotas), without usage where nobody tells it.
    [[nodiscard]] std::vector<QuotaValue> ofRegion(const std::string &project,
                                                   const std::string &region) const;
    [[nodiscard]] std::vector<QuotaValue> ofProject(const std::string &project) const; ///< the global ones

private:
    [[nodiscard]] std::int64_t defaultLimit(const QuotaKey &key) const;
    [[nodiscard]] QuotaValue valueOf(const std::string &project, QuotaKey key) const;

    Documents &m_documents;
    const ComputeCatalog &m_catalog;
    Usage m_usage;
};

} // namespace cluster::local
