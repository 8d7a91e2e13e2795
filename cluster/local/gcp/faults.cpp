#include "cluster/local/gcp/faults.h"

#include <algorithm>
#include <array>

namespace cluster::local {

namespace {

constexpr std::string_view kPrefix = "slipway/faults/";
constexpr std::pair<FaultKind, const char *> kNames[] = {
    {FaultKind::Stockout, "stockout"},
    {FaultKind::Quota, "quota"},
    {FaultKind::SlowOperation, "slow-operation"},
    {FaultKind::FailedOperation, "failed-operation"},
    {FaultKind::HostLost, "host-lost"},
    {FaultKind::Maintenance, "maintenance"},
    {FaultKind::Preemption, "preemption"},
    {FaultKind::RateLimit, "rate-limit"},
    {FaultKind::Unavailable, "unavailable"},
    {FaultKind::Latency, "latency"},
    {FaultKind::TokenExpiry, "token-expiry"},
    {FaultKind::DiskFull, "disk-full"},
};

struct TextField
{
    const char *name;
    std::string Fault::*member;
};
constexpr TextField kTexts[] = {
    {"id", &Fault::id},       {"service", &Fault::service},     {"method", &Fault::method},
    {"path", &Fault::path},   {"location", &Fault::location},   {"cluster", &Fault::cluster},
    {"pool", &Fault::pool},   {"host", &Fault::host},           {"machineType", &Fault::machineType},
    {"quota", &Fault::quota}, {"operation", &Fault::operation}, {"message", &Fault::message},
};
constexpr std::array<const char *, 5> kNumbers{"factor", "limit", "latencyMs", "times", "struck"};
constexpr std::int64_t kLongestLatencyMs = 600000;
constexpr double kHighestNumber = 1e12;

std::string kindList()
{
    std::string list;
    for (const auto &[kind, name] : kNames)
        list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
}

std::string fieldList()
{
    std::string list = "kind";
    for (const TextField &field : kTexts)
        list += std::string(", ") + field.name;
    for (const char *name : kNumbers)
        list += std::string(", ") + name;
    return list;
}

tl::unexpected<Error> wrong(const std::string &field, const std::string &what)
{
    return fail(ErrorCode::InvalidArgument, "fault: " + field + " " + what);
}

Status readKind(const nlohmann::json &json, Fault &fault)
{
    const auto kind = json.find("kind");
    if (kind == json.end() || !kind->is_string())
        return wrong("kind", "is missing; it is one of " + kindList());
    const auto found = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto &row) {
        return kind->get_ref<const std::string &>() == row.second;
    });
    if (found == std::end(kNames))
        return wrong("kind", "'" + kind->get<std::string>() + "' is not known; it is one of " + kindList());
    fault.kind = found->first;
    return {};
}

Status readNumber(const std::string &name, const nlohmann::json &value, Fault &fault)
{
    if (!value.is_number())
        return wrong(name, "must be a number");
    const auto number = value.get<double>();
    if (!(number >= 0))
        return wrong(name, "must not be negative");
    if (number > kHighestNumber)
        return wrong(name, "is at most 1000000000000");
    if (name == "factor") {
        if (number < 1)
            return wrong(name, "must be at least 1");
        fault.factor = number;
    } else if (name == "limit") {
        fault.limit = static_cast<std::int64_t>(number);
    } else if (name == "latencyMs") {
        if (number > static_cast<double>(kLongestLatencyMs))
            return wrong(name, "is at most " + std::to_string(kLongestLatencyMs));
        fault.latency = std::chrono::milliseconds(static_cast<std::int64_t>(number));
    } else if (number > 1e6) {
        return wrong(name, "is at most 1000000");
    } else if (name == "times") {
        fault.times = static_cast<int>(number);
    } else {
        fault.struck = static_cast<int>(number);
    }
    return {};
}

bool isNumberField(const std::string &name)
{
    return std::find(kNumbers.begin(), kNumbers.end(), name) != kNumbers.end();
}

bool same(const std::string &wanted, const std::string &there)
{
    return wanted.empty() || wanted == there;
}

/// A zone, or a region that the zone is in.
bool covers(const std::string &wanted, const std::string &location)
{
    return same(wanted, location)
        || (location.size() > wanted.size() && location.starts_with(wanted)
            && location[wanted.size()] == '-');
}

bool matches(const Fault &fault, FaultKind kind, const FaultContext &context)
{
    return fault.kind == kind && same(fault.service, context.service) && same(fault.method, context.method)
        && (fault.path.empty() || context.path.find(fault.path) != std::string::npos)
        && covers(fault.location, context.location) && same(fault.cluster, context.cluster)
        && same(fault.pool, context.pool) && same(fault.machineType, context.machineType)
        && same(fault.quota, context.quota) && same(fault.operation, context.operation);
}

std::string faultKey(const std::string &id)
{
    // Numbers of one length sort by age.
    const std::string number = id.substr(id.find('-') + 1);
    return std::string(kPrefix) + std::string(number.size() < 9 ? 9 - number.size() : 0, '0') + number;
}

} // namespace

std::string faultName(FaultKind kind)
{
    for (const auto &[value, name] : kNames) {
        if (value == kind)
            return name;
    }
    return {};
}

nlohmann::json Fault::toJson() const
{
    nlohmann::json json{{"kind", faultName(kind)}, {"times", times}, {"struck", struck}};
    for (const auto &[name, member] : kTexts) {
        if (!(this->*member).empty())
            json[name] = this->*member;
    }
    if (kind == FaultKind::SlowOperation)
        json["factor"] = factor;
    if (kind == FaultKind::Quota)
        json["limit"] = limit;
    if (kind == FaultKind::Latency)
        json["latencyMs"] = latency.count();
    return json;
}

Result<Fault> Fault::fromJson(const nlohmann::json &json)
{
    if (!json.is_object())
        return fail(ErrorCode::InvalidArgument, "fault: must be an object with 'kind' and what it strikes");
    Fault fault;
    if (const Status read = readKind(json, fault); !read)
        return tl::unexpected(read.error());
    for (const auto &[name, value] : json.items()) {
        const auto text
            = std::find_if(std::begin(kTexts), std::end(kTexts),
                           [&, &key = name](const TextField &field) { return key == field.name; });
        if (name == "kind")
            continue;
        if (text != std::end(kTexts)) {
            if (!value.is_string())
                return wrong(name, "must be a text");
            fault.*(text->member) = value.get<std::string>();
        } else if (isNumberField(name)) {
            if (const Status read = readNumber(name, value, fault); !read)
                return tl::unexpected(read.error());
        } else {
            return wrong(name, "is not known; known are " + fieldList());
        }
    }
    return fault;
}

void Faults::load() const
{
    if (m_loaded)
        return;
    const auto stored = m_documents.list(kPrefix);
    if (!stored)
        return; // tried again at the next call
    for (const Document &document : *stored) {
        if (auto fault = Fault::fromJson(document.value))
            m_faults.push_back(std::move(*fault));
    }
    m_loaded = true;
}

Result<Fault> Faults::add(Fault fault)
{
    {
        const std::lock_guard lock(m_mutex);
        load();
        int last = 0;
        for (const Fault &other : m_faults)
            last = std::max(last, std::atoi(other.id.substr(other.id.find('-') + 1).c_str()));
        fault.id = "f-" + std::to_string(last + 1);
        fault.struck = 0;
        // Before the disk is said to be full, so that this fault itself is kept.
        if (auto stored = m_documents.put(faultKey(fault.id), fault.toJson()); !stored)
            return tl::unexpected(stored.error());
        m_faults.push_back(fault);
    }
    changed();
    return fault;
}

Result<std::vector<Fault>> Faults::list() const
{
    const std::lock_guard lock(m_mutex);
    load();
    return m_faults;
}

Status Faults::remove(const std::string &id)
{
    {
        const std::lock_guard lock(m_mutex);
        load();
        const auto found = std::find_if(m_faults.begin(), m_faults.end(),
                                        [&](const Fault &fault) { return fault.id == id; });
        if (found == m_faults.end())
            return fail(ErrorCode::NotFound,
                        "no fault '" + id + "' is on order; 'slipwayctl local fault list' shows them");
        if (const Status removed = m_documents.remove(faultKey(id)); !removed)
            return removed;
        m_faults.erase(found);
    }
    changed();
    return {};
}

void Faults::countStrike(const std::string &id)
{
    const std::lock_guard lock(m_mutex);
    load();
    const auto found
        = std::find_if(m_faults.begin(), m_faults.end(), [&](const Fault &fault) { return fault.id == id; });
    if (found == m_faults.end())
        return;
    ++found->struck;
    static_cast<void>(m_documents.put(faultKey(id), found->toJson())); // else it counts anew after a restart
}

Status Faults::clear()
{
    {
        const std::lock_guard lock(m_mutex);
        if (auto removed = m_documents.removeAll(kPrefix); !removed)
            return tl::unexpected(removed.error());
        m_faults.clear();
        m_loaded = true;
    }
    changed();
    return {};
}

std::optional<Fault> Faults::strike(FaultKind kind, const FaultContext &context)
{
    std::optional<Fault> struck;
    bool isOver = false;
    {
        const std::lock_guard lock(m_mutex);
        load();
        const auto found = std::find_if(m_faults.begin(), m_faults.end(),
                                        [&](const Fault &fault) { return matches(fault, kind, context); });
        if (found == m_faults.end())
            return std::nullopt;
        ++found->struck;
        struck = *found;
        isOver = found->times > 0 && found->struck >= found->times;
        // Only a count that comes to an end is kept on disk: no request is to wait for it without need. That
        // it could not be stored (the disk is full) does not keep the fault from striking.
        if (isOver) {
            static_cast<void>(m_documents.remove(faultKey(found->id)));
            m_faults.erase(found);
        } else if (found->times > 0) {
            static_cast<void>(m_documents.put(faultKey(found->id), found->toJson()));
        }
    }
    if (isOver)
        changed();
    return struck;
}

std::optional<Fault> Faults::find(FaultKind kind, const FaultContext &context) const
{
    const std::lock_guard lock(m_mutex);
    load();
    for (const Fault &fault : m_faults) {
        if (matches(fault, kind, context))
            return fault;
    }
    return std::nullopt;
}

void Faults::onChange(std::function<void()> fn)
{
    const std::lock_guard lock(m_mutex);
    m_listeners.push_back(std::move(fn));
}

void Faults::changed()
{
    std::vector<std::function<void()>> listeners;
    {
        const std::lock_guard lock(m_mutex);
        listeners = m_listeners;
    }
    for (const auto &fn : listeners)
        fn();
}

} // namespace cluster::local
