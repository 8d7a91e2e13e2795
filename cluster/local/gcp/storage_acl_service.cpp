#include "cluster/local/gcp/storage_acl_service.h"

#include "cluster/local/gcp/storage_acls.h"
#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/wire_values.h"

#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

using Path = std::span<const std::string>;

json::iterator findEntity(json &list, const std::string &entity)
{
    return std::find_if(list.begin(), list.end(),
                        [&](const json &one) { return one.value("entity", std::string()) == entity; });
}

bool isWrite(const ServerRequest &request)
{
    return request.method != "GET";
}

/// What a write makes of a list; `entity` is the one it was about.
GoogleResult<json> changed(const ServerRequest &request, json list, const json &bucket, bool isBucket,
                           Path rest, std::string &entity)
{
    const json body = bodyOf(request);
    entity = rest.empty() ? body.value("entity", std::string()) : rest[0];
    const auto there = findEntity(list, entity);
    if (!rest.empty() && there == list.end())
        return googleFail(ErrorCode::NotFound, "Not Found");
    if (request.method == "DELETE") {
        list.erase(there);
        return list;
    }
    json one{{"entity", entity}, {"role", body.value("role", std::string())}};
    if (there == list.end())
        list.push_back(std::move(one));
    else
        *there = std::move(one);
    return storageAcl::checked(list, bucket, isBucket);
}

bool isMethod(const ServerRequest &request, Path rest)
{
    const std::string &method = request.method;
    if (rest.empty())
        return method == "GET" || method == "POST";
    return rest.size() == 1
        && (method == "GET" || method == "PUT" || method == "PATCH" || method == "DELETE");
}

} // namespace

GoogleResult<json> StorageAclService::ofBucket(const ServerRequest &request, const std::string &bucket,
                                               const std::string &field, Path rest)
{
    if (!isMethod(request, rest))
        return json(json::value_t::discarded);
    auto found = findBucket(m_parts, bucket);
    if (!found)
        return found;
    if (isUniform(*found))
        return storageAcl::uniformRefusal(isWrite(request) ? "use ACL API to update bucket policy"
                                                           : "get legacy ACL for a bucket");
    json list = found->value(field, storageAcl::projectPrivate(*found));
    std::string entity = rest.empty() ? std::string() : rest[0];
    if (isWrite(request)) {
        auto wanted = changed(request, list, *found, field == "acl", rest, entity);
        if (!wanted)
            return wanted;
        const auto written = m_parts.context.documents.update(bucketKey(bucket), [&](json &value) -> Status {
            value[field] = *wanted;
            return {};
        });
        if (!written)
            return tl::unexpected(toStorageError(written.error()));
        list = std::move(*wanted);
        if (request.method == "DELETE")
            return json();
    }
    const auto shown = [&](json one) {
        one = storageAcl::entry(one, bucket, nullptr);
        if (field != "acl")
            one["kind"] = "storage#objectAccessControl";
        return one;
    };
    if (entity.empty()) {
        json items = json::array();
        for (const json &one : list)
            items.push_back(shown(one));
        return json{
            {"kind", field == "acl" ? "storage#bucketAccessControls" : "storage#objectAccessControls"},
            {"items", std::move(items)}};
    }
    const auto one = findEntity(list, entity);
    return one == list.end() ? GoogleResult<json>(googleFail(ErrorCode::NotFound, "Not Found"))
                             : GoogleResult<json>(shown(*one));
}

GoogleResult<json> StorageAclService::ofObject(const ServerRequest &request, const std::string &bucket,
                                               const std::string &name, Path rest)
{
    if (!isMethod(request, rest))
        return json(json::value_t::discarded);
    const auto found = findBucket(m_parts, bucket);
    if (!found)
        return found;
    if (isUniform(*found))
        return storageAcl::uniformRefusal(isWrite(request) ? "update access control for an object"
                                                           : "get legacy ACL for an object");
    auto object = m_parts.objects.find(bucket, name, numberOf(request, "generation"));
    if (!object)
        return tl::unexpected(object.error());
    std::string entity = rest.empty() ? std::string() : rest[0];
    if (isWrite(request)) {
        auto wanted = changed(request, object->resource.value("acl", storageAcl::projectPrivate(*found)),
                              *found, false, rest, entity);
        if (!wanted)
            return wanted;
        object
            = m_parts.objects.update(bucket, name, numberOf(request, "generation"), {{"acl", *wanted}}, {});
        if (!object)
            return tl::unexpected(object.error());
        if (request.method == "DELETE")
            return json();
    }
    json list = object->resource.value("acl", storageAcl::projectPrivate(*found));
    if (entity.empty())
        return json{{"kind", "storage#objectAccessControls"},
                    {"items", storageAcl::entries(list, bucket, &*object)}};
    const auto one = findEntity(list, entity);
    return one == list.end() ? GoogleResult<json>(googleFail(ErrorCode::NotFound, "Not Found"))
                             : GoogleResult<json>(storageAcl::entry(*one, bucket, &*object));
}

} // namespace cluster::local
