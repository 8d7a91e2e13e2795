#include "cluster/local/gcp/storage_buckets.h"

#include "cluster/local/gcp/compute_catalog.h"
#include "cluster/local/gcp/storage_acls.h"
#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <regex>
#include <set>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::hours kLockedAfter{90 * 24}; // uniform access can't be undone from then on
constexpr const char *kSoftDelete = "604800"; // seconds, Google's default

std::string changedCase(std::string text, char from, char to)
{
    for (char &c : text) {
        if (c >= from && c <= from + 25)
            c = static_cast<char>(c - from + to);
    }
    return text;
}

GoogleStatus checkBucketName(const std::string &name)
{
    static const std::regex form("[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]");
    static const std::regex address("[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+");
    const bool hasDots = name.find('.') != std::string::npos;
    const bool bad = !std::regex_match(name, form) || (!hasDots && name.size() > 63)
        || std::regex_match(name, address) || name.starts_with("goog")
        || name.find("google") != std::string::npos || name.find("..") != std::string::npos
        || name.find(".-") != std::string::npos || name.find("-.") != std::string::npos;
    if (bad)
        return googleFail(ErrorCode::InvalidArgument, "Invalid bucket name: '" + name + "'");
    if (hasDots)
        return googleFail(ErrorCode::PermissionDenied,
                          "The bucket you tried to create is a domain name owned by another user.");
    return {};
}

/// "region", "multi-region", "dual-region", or nothing for no place of Google's.
std::string locationType(const std::string &location)
{
    static const std::set<std::string> multi{"US", "EU", "ASIA"};
    static const std::set<std::string> dual{"NAM4", "EUR4", "EUR5", "EUR7", "EUR8", "ASIA1"};
    if (multi.contains(location))
        return "multi-region";
    if (dual.contains(location))
        return "dual-region";
    return ComputeCatalog::builtIn().hasRegion(changedCase(location, 'A', 'a')) ? "region" : "";
}

/// The two bytes of a protobuf field 1, as the real etags are made.
std::string bucketEtag(std::int64_t metageneration)
{
    std::string bytes{"\x08"};
    auto value = static_cast<std::uint64_t>(metageneration);
    for (; value >= 0x80; value >>= 7)
        bytes += static_cast<char>((value & 0x7f) | 0x80);
    return base64(bytes + static_cast<char>(value));
}

json legacyBindings(const std::string &project, bool uniform)
{
    const auto binding = [](const char *role, json members) {
        return json{{"role", role}, {"members", std::move(members)}};
    };
    const json writers = json::array({"projectEditor:" + project, "projectOwner:" + project});
    const json readers = json::array({"projectViewer:" + project});
    json bindings = json::array();
    bindings.push_back(binding("roles/storage.legacyBucketOwner", writers));
    bindings.push_back(binding("roles/storage.legacyBucketReader", readers));
    if (uniform) {
        bindings.push_back(binding("roles/storage.legacyObjectOwner", writers));
        bindings.push_back(binding("roles/storage.legacyObjectReader", readers));
    }
    return bindings;
}

/// What uniform access and the older name for it look like together.
void setAccess(json &bucket, const json &given, const std::string &lockedTime)
{
    const json asked = given.value("iamConfiguration", json::object());
    json access = bucket.value("iamConfiguration", json::object());
    bool uniform = access.value("uniformBucketLevelAccess", json::object()).value("enabled", false);
    for (const char *name : {"bucketPolicyOnly", "uniformBucketLevelAccess"}) {
        if (asked.contains(name))
            uniform = asked[name].value("enabled", uniform);
    }
    json shown{{"enabled", uniform}};
    if (uniform)
        shown["lockedTime"] = lockedTime;
    access["uniformBucketLevelAccess"] = shown;
    access["bucketPolicyOnly"] = shown;
    access["publicAccessPrevention"] = asked.value(
        "publicAccessPrevention", access.value("publicAccessPrevention", std::string("inherited")));
    bucket["iamConfiguration"] = std::move(access);
}

/// Those that the request names, in the body or by a predefined name.
GoogleStatus setAcls(const ServerRequest &request, json &bucket, const json &body)
{
    return storageAcl::setOfBucket(bucket, body, request.queryValue("predefinedAcl").value_or(""),
                                   request.queryValue("predefinedDefaultObjectAcl").value_or(""));
}

/// Fields that only the server sets, or that are checked by themselves.
void dropFixed(json &fields)
{
    for (const char *field : {"id", "kind", "name", "projectNumber", "location", "locationType",
                              "metageneration", "timeCreated", "updated", "etag", "selfLink",
                              "iamConfiguration", "generation", "acl", "defaultObjectAcl", "owner"})
        fields.erase(field);
}

} // namespace

json StorageBuckets::wire(const ServerRequest &request, json bucket) const
{
    const std::string name = bucket.value("name", std::string());
    bucket.erase("projectId");
    bucket["kind"] = "storage#bucket";
    bucket["id"] = name;
    bucket["selfLink"] = storageBase(request) + "/storage/v1/b/" + name;
    const json lists[] = {bucket.value("acl", json()), bucket.value("defaultObjectAcl", json())};
    bucket.erase("acl");
    bucket.erase("defaultObjectAcl");
    if (isUniform(bucket) || !showsAcl(request))
        return bucket;
    bucket["acl"] = storageAcl::entries(lists[0].is_array() ? lists[0] : storageAcl::projectPrivate(bucket),
                                        name, nullptr);
    bucket["defaultObjectAcl"] = storageAcl::entries(
        lists[1].is_array() ? lists[1] : storageAcl::projectPrivate(bucket), name, nullptr);
    bucket["owner"] = {{"entity", "project-owners-" + bucket.value("projectNumber", std::string())}};
    return bucket;
}

GoogleResult<json> StorageBuckets::fresh(const json &body, const Project &project) const
{
    static const std::set<std::string> classes{
        "STANDARD", "NEARLINE",       "COLDLINE", "ARCHIVE",
        "RAPID",    "MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY"};
    const std::string name = body.value("name", std::string());
    if (const auto valid = checkBucketName(name); !valid)
        return tl::unexpected(valid.error());
    const std::string location = changedCase(body.value("location", std::string("US")), 'a', 'A');
    const std::string type = locationType(location);
    if (type.empty())
        return googleFail(ErrorCode::InvalidArgument, "The specified location constraint is not valid.");
    const std::string storageClass = body.value("storageClass", std::string("STANDARD"));
    if (!classes.contains(storageClass))
        return googleFail(ErrorCode::InvalidArgument, "Invalid storage class: '" + storageClass + "'");
    const auto now = m_parts.context.now();
    json bucket = body;
    dropFixed(bucket);
    bucket.update({{"name", name},
                   {"projectId", project.id},
                   {"projectNumber", project.number},
                   {"location", location},
                   {"locationType", type},
                   {"storageClass", storageClass},
                   {"metageneration", "1"},
                   {"etag", bucketEtag(1)},
                   {"timeCreated", rfc3339(now, 3)},
                   {"updated", rfc3339(now, 3)}});
    setAccess(bucket, body, rfc3339(now + kLockedAfter, 3));
    if (isHierarchical(bucket) && !isUniform(bucket))
        return googleFail(ErrorCode::InvalidArgument,
                          "Hierarchical namespace can only be enabled on a bucket with uniform bucket-level "
                          "access.");
    if (type != "region" && !bucket.contains("rpo"))
        bucket["rpo"] = "DEFAULT";
    const json softDelete = bucket.value("softDeletePolicy", json::object());
    bucket["softDeletePolicy"] = {
        {"retentionDurationSeconds", softDelete.value("retentionDurationSeconds", std::string(kSoftDelete))},
        {"effectiveTime", rfc3339(now, 3)}};
    return bucket;
}

GoogleResult<json> StorageBuckets::insert(const ServerRequest &request)
{
    const auto project = m_parts.projects.find(request.queryValue("project").value_or(""));
    if (!project)
        return tl::unexpected(project.error());
    if (!*project)
        return googleFail(ErrorCode::NotFound, "The requested project was not found.");
    if (const auto enabled = m_parts.apis.require(**project, kStorageApi); !enabled)
        return tl::unexpected(enabled.error());
    auto bucket = fresh(bodyOf(request), **project);
    if (!bucket)
        return bucket;
    if (const auto set = setAcls(request, *bucket, bodyOf(request)); !set)
        return tl::unexpected(set.error());
    const std::string name = bucket->value("name", std::string());
    const auto written = m_parts.context.documents.create(bucketKey(name), *bucket);
    if (!written && written.error().code == ErrorCode::AlreadyExists) {
        const auto there = findBucket(m_parts, name);
        const bool isOurs = there && there->value("projectId", std::string()) == (*project)->id;
        return googleFail(ErrorCode::AlreadyExists,
                          isOurs
                              ? "Your previous request to create the named bucket succeeded and you already "
                                "own it."
                              : "The requested bucket name is not available. The bucket namespace is shared "
                                "by all users of the system. Please select a different name and try again.");
    }
    if (!written)
        return tl::unexpected(toStorageError(written.error()));
    const json bindings = legacyBindings((*project)->id, isUniform(*bucket));
    if (const auto set = m_parts.policies.setInitial("buckets/" + name, bindings); !set)
        return tl::unexpected(set.error());
    return wire(request, *bucket);
}

GoogleResult<json> StorageBuckets::list(const ServerRequest &request) const
{
    const auto project = m_parts.projects.find(request.queryValue("project").value_or(""));
    const auto page = pageOf(request, "maxResults", 1000, 1000);
    if (!project)
        return tl::unexpected(project.error());
    if (!*project)
        return googleFail(ErrorCode::NotFound, "The requested project was not found.");
    if (const auto enabled = m_parts.apis.require(**project, kStorageApi); !enabled)
        return tl::unexpected(enabled.error());
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid argument: pageToken");
    const std::string prefix = request.queryValue("prefix").value_or("");
    const auto documents = m_parts.context.documents.list(
        bucketKey(prefix), page->after.empty() ? std::string() : bucketKey(page->after));
    if (!documents)
        return tl::unexpected(toStorageError(documents.error()));
    json answer{{"kind", "storage#buckets"}};
    json items = json::array();
    for (const Document &document : *documents) {
        if (document.value.value("projectId", std::string()) != (*project)->id)
            continue;
        if (items.size() == page->size) {
            answer["nextPageToken"] = pageTokenAfter(items.back().value("name", std::string()));
            break;
        }
        items.push_back(wire(request, document.value));
    }
    if (!items.empty())
        answer["items"] = std::move(items);
    return answer;
}

GoogleResult<json> StorageBuckets::get(const ServerRequest &request, const std::string &name) const
{
    auto bucket = findBucket(m_parts, name);
    return bucket ? GoogleResult<json>(wire(request, std::move(*bucket))) : bucket;
}

GoogleResult<json> StorageBuckets::patch(const ServerRequest &request, const std::string &name)
{
    if (const auto bucket = findBucket(m_parts, name); !bucket)
        return bucket;
    const json body = bodyOf(request);
    const auto wanted = numberOf(request, "ifMetagenerationMatch");
    const auto now = m_parts.context.now();
    GoogleStatus listed;
    const auto written = m_parts.context.documents.update(bucketKey(name), [&](json &bucket) -> Status {
        const std::int64_t metageneration = std::stoll(bucket.value("metageneration", std::string("1")));
        if (wanted && *wanted != metageneration)
            return fail(ErrorCode::Aborted, {});
        json fields = body;
        dropFixed(fields);
        bucket.merge_patch(fields);
        setAccess(bucket, body, rfc3339(now + kLockedAfter, 3));
        listed = setAcls(request, bucket, body);
        if (!listed)
            return fail(listed.error().code, listed.error().message);
        bucket["metageneration"] = std::to_string(metageneration + 1);
        bucket["etag"] = bucketEtag(metageneration + 1);
        bucket["updated"] = rfc3339(now, 3);
        return {};
    });
    if (written)
        return wire(request, written->value);
    if (!listed)
        return tl::unexpected(listed.error());
    if (written.error().code == ErrorCode::Aborted)
        return conditionNotMet();
    return tl::unexpected(toStorageError(written.error()));
}

GoogleStatus StorageBuckets::remove(const ServerRequest &request, const std::string &name)
{
    const auto bucket = findBucket(m_parts, name);
    if (!bucket)
        return tl::unexpected(bucket.error());
    const auto wanted = numberOf(request, "ifMetagenerationMatch");
    if (wanted && std::to_string(*wanted) != bucket->value("metageneration", std::string()))
        return conditionNotMet();
    const auto isEmpty = m_parts.objects.isEmpty(name);
    if (!isEmpty)
        return tl::unexpected(isEmpty.error());
    if (!*isEmpty)
        return googleFail(ErrorCode::AlreadyExists, "The bucket you tried to delete is not empty.");
    auto &documents = m_parts.context.documents;
    const auto caches = documents.list("storage/caches/" + name + "/");
    if (!caches)
        return tl::unexpected(toStorageError(caches.error()));
    for (const Document &cache : *caches) {
        if (cache.value.value("state", std::string()) != "disabled")
            return googleFail(ErrorCode::AlreadyExists,
                              "The bucket you tried to delete has an anywhere cache in zone "
                                  + cache.value.value("zone", std::string())
                                  + ". Disable the cache, then delete the bucket.");
    }
    for (const char *kind : {"storage/caches/", "storage/folders/", "storage/managed-folders/"}) {
        if (const auto removed = documents.removeAll(kind + name + "/"); !removed)
            return tl::unexpected(toStorageError(removed.error()));
    }
    if (const auto removed = m_parts.policies.remove("buckets/" + name); !removed)
        return removed;
    const Status removed = documents.remove(bucketKey(name));
    return removed ? GoogleStatus{} : tl::unexpected(toStorageError(removed.error()));
}

GoogleResult<json> StorageBuckets::layout(const std::string &name) const
{
    const auto bucket = findBucket(m_parts, name);
    if (!bucket)
        return bucket;
    return json{{"kind", "storage#storageLayout"},
                {"bucket", name},
                {"location", bucket->value("location", std::string())},
                {"locationType", bucket->value("locationType", std::string())},
                {"hierarchicalNamespace", {{"enabled", isHierarchical(*bucket)}}}};
}

GoogleResult<json> StorageBuckets::policy(const ServerRequest &request, const std::string &resource)
{
    auto policy = request.method == "PUT" ? m_parts.policies.set(resource, bodyOf(request))
                                          : m_parts.policies.get(resource, requestedPolicyVersion(request));
    if (!policy) {
        if (policy.error().code == ErrorCode::Aborted)
            return conditionNotMet(); // this API's way to say that the etag is stale
        return policy;
    }
    (*policy)["kind"] = "storage#policy";
    (*policy)["resourceId"] = "projects/_/" + resource;
    return policy;
}

json StorageBuckets::permissions(const ServerRequest &request)
{
    json answer{{"kind", "storage#testIamPermissionsResponse"}};
    if (const auto asked = request.queryValues("permissions"); !asked.empty())
        answer["permissions"] = asked;
    return answer;
}

} // namespace cluster::local
