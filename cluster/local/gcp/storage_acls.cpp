#include "cluster/local/gcp/storage_acls.h"

#include "cluster/local/gcp/object_store.h"
#include "cluster/local/gcp/storage_parts.h"

#include <algorithm>
#include <array>

namespace cluster::local::storageAcl {

using nlohmann::json;

namespace {

constexpr const char *kOwner = "user-you@slipway.local";

json access(const std::string &entity, const char *role)
{
    return {{"entity", entity}, {"role", role}};
}

std::string teamOf(const json &bucket, const char *team)
{
    return std::string("project-") + team + "-" + bucket.value("projectNumber", std::string());
}

bool isPublic(const std::string &entity)
{
    return entity == "allUsers" || entity == "allAuthenticatedUsers";
}

bool isEntity(const std::string &entity)
{
    static constexpr std::array<std::string_view, 4> kinds{"user-", "group-", "domain-", "project-"};
    return isPublic(entity) || std::any_of(kinds.begin(), kinds.end(), [&](std::string_view kind) {
               return entity.starts_with(kind) && entity.size() > kind.size();
           });
}

/// Its owner is always in an object's list.
void addOwner(json &list)
{
    const bool isThere = std::any_of(list.begin(), list.end(), [](const json &one) {
        return one.value("entity", std::string()) == kOwner;
    });
    if (!isThere)
        list.push_back(access(kOwner, "OWNER"));
}

bool namesList(const json &fields, const char *field)
{
    const auto list = fields.find(field);
    return list != fields.end() && list->is_array() && !list->empty();
}

} // namespace

std::string ownerEntity()
{
    return kOwner;
}

json projectPrivate(const json &bucket)
{
    return json::array({access(teamOf(bucket, "owners"), "OWNER"), access(teamOf(bucket, "editors"), "OWNER"),
                        access(teamOf(bucket, "viewers"), "READER")});
}

GoogleResult<json> predefined(const std::string &name, const json &bucket, bool isBucket)
{
    json list = json::array();
    if (name == "projectPrivate") {
        list = projectPrivate(bucket);
    } else if (name == "publicRead") {
        list.push_back(access("allUsers", "READER"));
    } else if (name == "authenticatedRead") {
        list.push_back(access("allAuthenticatedUsers", "READER"));
    } else if (name == "publicReadWrite" && isBucket) {
        list.push_back(access("allUsers", "WRITER"));
    } else if (name == "bucketOwnerRead" && !isBucket) {
        list.push_back(access(teamOf(bucket, "owners"), "READER"));
    } else if (name == "bucketOwnerFullControl" && !isBucket) {
        list.push_back(access(teamOf(bucket, "owners"), "OWNER"));
    } else if (name != "private") {
        return googleFail(ErrorCode::InvalidArgument, "Invalid argument: predefinedAcl \"" + name + "\"");
    }
    if (isBucket)
        list.push_back(access(teamOf(bucket, "owners"), "OWNER"));
    return checked(list, bucket, isBucket);
}

GoogleResult<json> checked(const json &given, const json &bucket, bool isBucket)
{
    const bool isPrevented
        = bucket.value("iamConfiguration", json::object()).value("publicAccessPrevention", std::string())
        == "enforced";
    json list = json::array();
    for (const json &one : given) {
        const std::string entity = one.value("entity", std::string());
        const std::string role = one.value("role", std::string());
        if (!isEntity(entity))
            return googleFail(ErrorCode::InvalidArgument, "Invalid value for entity: \"" + entity + "\"");
        if (role != "OWNER" && role != "READER" && !(isBucket && role == "WRITER"))
            return googleFail(ErrorCode::InvalidArgument, "Invalid value for role: \"" + role + "\"");
        if (isPrevented && isPublic(entity))
            return tl::unexpected(
                GoogleError{ErrorCode::FailedPrecondition,
                            "The member bindings allUsers and allAuthenticatedUsers are not allowed since "
                            "public access prevention is enforced.",
                            json::array(), 412});
        const auto same = std::find_if(list.begin(), list.end(), [&](const json &other) {
            return other.value("entity", std::string()) == entity;
        });
        if (same == list.end())
            list.push_back(access(entity, role.c_str()));
        else
            (*same)["role"] = role;
    }
    return list;
}

GoogleResult<json> ofNewObject(const json &bucket, const std::string &predefinedName, const json &fields)
{
    const bool isAsked = !predefinedName.empty() || namesList(fields, "acl");
    if (isUniform(bucket)) {
        if (isAsked)
            return uniformRefusal("insert legacy ACL for an object");
        return json();
    }
    auto list = !predefinedName.empty()       ? predefined(predefinedName, bucket, false)
        : namesList(fields, "acl")            ? checked(fields["acl"], bucket, false)
        : bucket.contains("defaultObjectAcl") ? GoogleResult<json>(bucket["defaultObjectAcl"])
                                              : GoogleResult<json>(projectPrivate(bucket));
    if (list)
        addOwner(*list);
    return list;
}

GoogleResult<json> ofNewObject(const json &bucket, const json &fields)
{
    return ofNewObject(bucket, fields.value("predefinedAcl", std::string()), fields);
}

GoogleStatus setOfBucket(json &bucket, const json &fields, const std::string &predefinedName,
                         const std::string &predefinedDefault)
{
    const bool isAsked = !predefinedName.empty() || !predefinedDefault.empty() || namesList(fields, "acl")
        || namesList(fields, "defaultObjectAcl");
    if (isUniform(bucket)) {
        if (isAsked)
            return uniformRefusal("use ACL API to update bucket policy");
        return {};
    }
    const auto set = [&](const char *field, const std::string &name, bool isBucket) -> GoogleStatus {
        GoogleResult<json> list = bucket.value(field, projectPrivate(bucket));
        if (!name.empty())
            list = predefined(name, bucket, isBucket);
        else if (fields.contains(field) && fields[field].is_array())
            list = checked(fields[field], bucket, isBucket);
        if (!list)
            return tl::unexpected(list.error());
        bucket[field] = std::move(*list);
        return {};
    };
    if (const auto done = set("acl", predefinedName, true); !done)
        return done;
    return set("defaultObjectAcl", predefinedDefault, false);
}

json entry(const json &kept, const std::string &bucket, const StoredObject *object)
{
    const std::string entity = kept.value("entity", std::string());
    json one = kept;
    one["kind"] = object ? "storage#objectAccessControl" : "storage#bucketAccessControl";
    one["bucket"] = bucket;
    one["etag"] = "CAE=";
    one["id"] = bucket + "/" + entity;
    if (object) {
        const std::string generation = std::to_string(object->generation());
        one["object"] = object->name();
        one["generation"] = generation;
        one["id"] = bucket + "/" + object->name() + "/" + generation + "/" + entity;
        one["etag"] = object->resource.value("etag", std::string());
    }
    if (entity.starts_with("user-") || entity.starts_with("group-"))
        one["email"] = entity.substr(entity.find('-') + 1);
    if (entity.starts_with("domain-"))
        one["domain"] = entity.substr(entity.find('-') + 1);
    if (entity.starts_with("project-")) {
        const auto dash = entity.find('-', 8);
        one["projectTeam"] = {{"team", entity.substr(8, dash == std::string::npos ? dash : dash - 8)},
                              {"projectNumber", dash == std::string::npos ? "" : entity.substr(dash + 1)}};
    }
    return one;
}

json entries(const json &kept, const std::string &bucket, const StoredObject *object)
{
    json list = json::array();
    for (const json &one : kept)
        list.push_back(entry(one, bucket, object));
    return list;
}

tl::unexpected<GoogleError> uniformRefusal(const std::string &what)
{
    return googleFail(ErrorCode::InvalidArgument,
                      "Cannot " + what
                          + " when uniform bucket-level access is enabled. Read more at "
                            "https://cloud.google.com/storage/docs/uniform-bucket-level-access");
}

} // namespace cluster::local::storageAcl
