#include "cluster/local/gcp/storage_caches.h"

#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::minutes kCacheTakes{10};
constexpr std::int64_t kShortestTtl = 3600; // seconds
constexpr std::int64_t kLongestTtl = 604800;

std::string keyOf(const std::string &bucket, const std::string &id)
{
    return "storage/caches/" + bucket + "/" + id;
}

std::string operationPrefix(const std::string &bucket)
{
    return "projects/_/buckets/" + bucket + "/operations/";
}

GoogleStatus checkTtl(const std::string &ttl)
{
    const bool isNumber = ttl.size() > 1 && ttl.size() < 9 && ttl.back() == 's'
        && ttl.find_first_not_of("0123456789") == ttl.size() - 1;
    const std::int64_t seconds = isNumber ? std::stoll(ttl) : 0;
    if (seconds >= kShortestTtl && seconds <= kLongestTtl)
        return {};
    return googleFail(ErrorCode::InvalidArgument,
                      "Invalid TTL '" + ttl + "': it must be between 3600s and 604800s.");
}

GoogleStatus checkAdmission(const std::string &policy)
{
    std::string lowered = policy;
    std::transform(lowered.begin(), lowered.end(), lowered.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : (c == '_' ? '-' : c);
    });
    if (lowered == "admit-on-first-miss" || lowered == "admit-on-second-miss")
        return {};
    return googleFail(ErrorCode::InvalidArgument,
                      "Invalid admission policy '" + policy
                          + "': use ADMIT_ON_FIRST_MISS or ADMIT_ON_SECOND_MISS.");
}

bool isWithin(const std::string &zone, const std::string &location)
{
    std::string region = regionOfZone(zone);
    if (location == "US")
        return region.starts_with("us-");
    if (location == "EU")
        return region.starts_with("europe-");
    if (location == "ASIA")
        return region.starts_with("asia-");
    std::transform(region.begin(), region.end(), region.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return region == location || location.size() <= 5; // dual regions by their names: not looked up
}

} // namespace

json StorageCaches::wire(const ServerRequest &request, json cache) const
{
    if (cache.value("state", std::string()) == "creating"
        && m_parts.operations.isOver(cache.value("readyAt", std::int64_t{0})))
        cache["state"] = "running";
    cache.erase("readyAt");
    cache["selfLink"] = storageBase(request) + "/storage/v1/b/" + cache.value("bucket", std::string())
        + "/anywhereCaches/" + cache.value("anywhereCacheId", std::string());
    return cache;
}

GoogleResult<json> StorageCaches::find(const std::string &bucket, const std::string &id) const
{
    if (const auto there = findBucket(m_parts, bucket); !there)
        return there;
    const auto document = m_parts.context.documents.get(keyOf(bucket, id));
    if (!document)
        return tl::unexpected(toStorageError(document.error()));
    if (!*document)
        return googleFail(ErrorCode::NotFound,
                          "The anywhere cache " + id + " of bucket " + bucket + " does not exist.");
    return (*document)->value;
}

GoogleResult<json> StorageCaches::startOperation(const ServerRequest &request, const OperationPlan &plan,
                                                 const std::string &type, const json &cache)
{
    const std::string bucket = cache.value("bucket", std::string());
    json metadata{{"@type", "type.googleapis.com/google.storage.control.v2." + type + "Metadata"},
                  {"commonMetadata",
                   {{"createTime", rfc3339(m_parts.context.now(), 6)},
                    {"type", type},
                    {"requestedCancellation", false}}}};
    for (const char *field : {"anywhereCacheId", "zone", "ttl", "admissionPolicy"})
        metadata[field] = cache.value(field, std::string());
    json response = wire(request, cache);
    response["state"] = "running";
    response["@type"] = "type.googleapis.com/google.storage.control.v2.AnywhereCache";
    auto started = m_parts.operations.start(operationPrefix(bucket) + randomUuid(), plan, metadata, response);
    if (started)
        (*started)["kind"] = "storage#operation";
    return started;
}

GoogleResult<json> StorageCaches::insert(const ServerRequest &request, const std::string &bucket)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return there;
    const json body = bodyOf(request);
    const std::string zone = body.value("zone", std::string());
    const std::string location = there->value("location", std::string());
    if (!ComputeCatalog::builtIn().hasZone(zone) || !isWithin(zone, location))
        return googleFail(ErrorCode::InvalidArgument,
                          "Invalid zone '" + zone + "': the cache of a bucket in " + location
                              + " must be in a zone of that location.");
    const std::string ttl = body.value("ttl", std::string("86400s"));
    const std::string admission = body.value("admissionPolicy", std::string("ADMIT_ON_FIRST_MISS"));
    if (const auto valid = checkTtl(ttl); !valid)
        return tl::unexpected(valid.error());
    if (const auto valid = checkAdmission(admission); !valid)
        return tl::unexpected(valid.error());
    const auto old = m_parts.context.documents.get(keyOf(bucket, zone));
    if (!old)
        return tl::unexpected(toStorageError(old.error()));
    if (*old && (*old)->value.value("state", std::string()) != "disabled")
        return googleFail(ErrorCode::AlreadyExists,
                          "The bucket " + bucket + " has an anywhere cache in zone " + zone + " already.");

    const OperationPlan plan = m_parts.operations.plan("CREATE_ANYWHERE_CACHE", zone, kCacheTakes);
    const std::string now = rfc3339(m_parts.context.now(), 3);
    const json cache{{"kind", "storage#anywhereCache"},
                     {"id", bucket + "/" + zone},
                     {"bucket", bucket},
                     {"anywhereCacheId", zone},
                     {"zone", zone},
                     {"state", "creating"},
                     {"ttl", ttl},
                     {"admissionPolicy", admission},
                     {"ingestOnWrite", body.value("ingestOnWrite", false)},
                     {"createTime", now},
                     {"updateTime", now},
                     {"pendingUpdate", false},
                     {"readyAt", plan.endsAt}};
    if (!plan.failure) {
        const auto written = m_parts.context.documents.put(keyOf(bucket, zone), cache);
        if (!written)
            return tl::unexpected(toStorageError(written.error()));
    }
    return startOperation(request, plan, "CreateAnywhereCache", cache);
}

GoogleResult<json> StorageCaches::list(const ServerRequest &request, const std::string &bucket) const
{
    if (const auto there = findBucket(m_parts, bucket); !there)
        return there;
    const auto documents = m_parts.context.documents.list(keyOf(bucket, {}));
    if (!documents)
        return tl::unexpected(toStorageError(documents.error()));
    json answer{{"kind", "storage#anywhereCaches"}};
    for (const Document &document : *documents)
        answer["items"].push_back(wire(request, document.value));
    return answer;
}

GoogleResult<json> StorageCaches::get(const ServerRequest &request, const std::string &bucket,
                                      const std::string &id) const
{
    auto cache = find(bucket, id);
    return cache ? GoogleResult<json>(wire(request, std::move(*cache))) : cache;
}

GoogleResult<json> StorageCaches::patch(const ServerRequest &request, const std::string &bucket,
                                        const std::string &id)
{
    auto cache = find(bucket, id);
    if (!cache)
        return cache;
    const json body = bodyOf(request);
    if (body.contains("ttl")) {
        if (const auto valid = checkTtl(body.value("ttl", std::string())); !valid)
            return tl::unexpected(valid.error());
    }
    if (body.contains("admissionPolicy")) {
        if (const auto valid = checkAdmission(body.value("admissionPolicy", std::string())); !valid)
            return tl::unexpected(valid.error());
    }
    for (const char *field : {"ttl", "admissionPolicy", "ingestOnWrite"}) {
        if (body.contains(field))
            (*cache)[field] = body[field];
    }
    (*cache)["updateTime"] = rfc3339(m_parts.context.now(), 3);
    const OperationPlan plan = m_parts.operations.plan("UPDATE_ANYWHERE_CACHE", id, kCacheTakes);
    if (!plan.failure) {
        const auto written = m_parts.context.documents.put(keyOf(bucket, id), *cache);
        if (!written)
            return tl::unexpected(toStorageError(written.error()));
    }
    return startOperation(request, plan, "UpdateAnywhereCache", *cache);
}

GoogleResult<json> StorageCaches::act(const ServerRequest &request, const std::string &bucket,
                                      const std::string &id, const std::string &verb)
{
    auto cache = find(bucket, id);
    if (!cache)
        return cache;
    const std::string state = wire(request, *cache).value("state", std::string());
    const bool isAllowed = verb == "pause" ? state == "running"
        : verb == "resume"                 ? state == "paused" || state == "disabled"
                                           : state == "running" || state == "paused" || state == "creating";
    if (!isAllowed)
        return googleFail(ErrorCode::FailedPrecondition,
                          "The anywhere cache " + id + " is " + state + ": it can't be asked to " + verb
                              + ".");
    (*cache)["state"] = verb == "pause" ? "paused" : verb == "resume" ? "running" : "disabled";
    (*cache)["updateTime"] = rfc3339(m_parts.context.now(), 3);
    const auto written = m_parts.context.documents.put(keyOf(bucket, id), *cache);
    if (!written)
        return tl::unexpected(toStorageError(written.error()));
    return wire(request, std::move(*cache));
}

GoogleResult<json> StorageCaches::operation(const std::string &bucket, const std::string &id) const
{
    auto operation = m_parts.operations.get(operationPrefix(bucket) + id);
    if (operation)
        (*operation)["kind"] = "storage#operation";
    return operation;
}

GoogleResult<json> StorageCaches::operations(const std::string &bucket) const
{
    auto list = m_parts.operations.list(operationPrefix(bucket));
    if (!list)
        return list;
    for (json &operation : *list)
        operation["kind"] = "storage#operation";
    return json{{"kind", "storage#operations"}, {"operations", std::move(*list)}};
}

} // namespace cluster::local
