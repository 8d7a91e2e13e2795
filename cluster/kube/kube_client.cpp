#include "cluster/kube/kube_client.h"

#include "cluster/kube/json_text.h"
#include "cluster/kube/kube_call.h"

namespace cluster {

namespace {

using Json = nlohmann::json;

Json &metadataOf(Json &object)
{
    Json &metadata = object["metadata"];
    if (!metadata.is_object())
        metadata = Json::object();
    return metadata;
}

QueryString writeQuery(const KubeWriteOptions &options)
{
    QueryString query;
    query.add("fieldManager", options.fieldManager);
    query.add("fieldValidation", options.fieldValidation);
    query.add("dryRun", options.dryRun ? "All" : "");
    return query;
}

QueryString listQuery(const KubeListOptions &list)
{
    QueryString query;
    query.add("labelSelector", list.labelSelector);
    query.add("fieldSelector", list.fieldSelector);
    query.add("resourceVersion", list.resourceVersion);
    return query;
}

Json deleteBody(const KubeDeleteOptions &options)
{
    Json body{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
    if (!options.propagation.empty())
        body["propagationPolicy"] = options.propagation;
    if (options.gracePeriodSeconds >= 0)
        body["gracePeriodSeconds"] = options.gracePeriodSeconds;
    if (!options.uid.empty())
        body["preconditions"]["uid"] = options.uid;
    if (!options.resourceVersion.empty())
        body["preconditions"]["resourceVersion"] = options.resourceVersion;
    return body;
}

const char *contentTypeOf(PatchType type)
{
    switch (type) {
    case PatchType::Json:
        return "application/json-patch+json";
    case PatchType::Strategic:
        return "application/strategic-merge-patch+json";
    case PatchType::Merge:
        break;
    }
    return "application/merge-patch+json";
}

/// Moves a page's items into `list`; false when its limit is reached.
bool takeItems(Json &page, std::int64_t limit, KubeList &list)
{
    // The items of a list of built-in kinds don't say what they are.
    std::string kind = stringAt(page, "kind");
    if (kind.ends_with("List"))
        kind.resize(kind.size() - 4);
    const std::string apiVersion = stringAt(page, "apiVersion");
    const auto items = page.find("items");
    if (items == page.end() || !items->is_array())
        return true;
    for (Json &item : *items) {
        if (limit > 0 && static_cast<std::int64_t>(list.items.size()) >= limit)
            return false;
        if (!item.is_object())
            continue;
        if (!kind.empty() && !item.contains("kind"))
            item["kind"] = kind;
        if (!apiVersion.empty() && !item.contains("apiVersion"))
            item["apiVersion"] = apiVersion;
        list.items.push_back(std::move(item));
    }
    return true;
}

int nextPageSize(const KubeListOptions &options, const KubeList &list)
{
    const std::int64_t left
        = options.limit > 0 ? options.limit - static_cast<std::int64_t>(list.items.size()) : 0;
    if (left > 0 && (options.pageSize == 0 || left < options.pageSize))
        return static_cast<int>(left);
    return options.pageSize;
}

} // namespace

Result<Json> KubeClient::get(const ResourcePath &path, const KubeCallOptions &options)
{
    Call call;
    call.target = path.text();
    call.doing = "reading " + path.display();
    return exchangeJson(call, options);
}

Result<KubeList> KubeClient::list(const ResourcePath &path, const KubeListOptions &list,
                                  const KubeCallOptions &options)
{
    KubeStatus failure;
    KubeCallOptions pageOptions = options;
    pageOptions.failure = &failure;
    bool hasStartedAgain = false;
    KubeList result;
    std::string token;
    while (true) {
        QueryString query = listQuery(token.empty() ? list : [&] {
            KubeListOptions next = list; // a later page has its version in its token
            next.resourceVersion.clear();
            return next;
        }());
        if (const int size = nextPageSize(list, result); size > 0)
            query.add("limit", size);
        query.add("continue", token);
        Call call;
        call.target = path.text() + query.text();
        call.doing = "listing " + path.display();
        Result<Json> page = exchangeJson(call, pageOptions);
        if (!page && failure.httpStatus == 410 && !token.empty() && !hasStartedAgain) {
            hasStartedAgain = true;
            result = {};
            token.clear();
            continue;
        }
        if (!page) {
            if (options.failure)
                *options.failure = failure;
            return tl::unexpected(page.error());
        }
        const Json metadata = page->value("metadata", Json::object());
        result.resourceVersion = stringAt(metadata, "resourceVersion");
        token = stringAt(metadata, "continue");
        const bool wantsMore = takeItems(*page, list.limit, result);
        const bool isFull = list.limit > 0 && static_cast<std::int64_t>(result.items.size()) >= list.limit;
        if (token.empty() || isFull) {
            result.isComplete = token.empty() && wantsMore;
            return result;
        }
    }
}

Result<Json> KubeClient::create(const ResourcePath &path, const Json &object, const KubeWriteOptions &options)
{
    Call call;
    call.method = "POST";
    call.target = (path.subresource.empty() ? path.collection() : path).text() + writeQuery(options).text();
    call.body = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.contentType = "application/json";
    call.isRepeatable = false;
    const auto metadata = object.find("metadata");
    const std::string name
        = metadata != object.end() && metadata->is_object() ? stringAt(*metadata, "name") : std::string();
    call.doing = "creating " + (path.name.empty() && !name.empty() ? path.named(name) : path).display();
    return exchangeJson(call, options);
}

Result<Json> KubeClient::update(const ResourcePath &path, const Json &object, const KubeWriteOptions &options)
{
    Call call;
    call.method = "PUT";
    call.target = path.text() + writeQuery(options).text();
    call.body = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.contentType = "application/json";
    call.doing = "updating " + path.display();
    return exchangeJson(call, options);
}

Result<Json> KubeClient::patch(const ResourcePath &path, PatchType type, const Json &patch,
                               const KubeWriteOptions &options)
{
    Call call;
    call.method = "PATCH";
    call.target = path.text() + writeQuery(options).text();
    call.body = patch.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.contentType = contentTypeOf(type);
    // A JSON patch may append to a list; the others say how it shall be in the end.
    call.isRepeatable = type != PatchType::Json;
    call.doing = "changing " + path.display();
    return exchangeJson(call, options);
}

Result<Json> KubeClient::patchStatus(const ResourcePath &path, const Json &status,
                                     const KubeWriteOptions &options)
{
    return patch(path.sub("status"), PatchType::Merge, Json{{"status", status}}, options);
}

Result<Json> KubeClient::apply(const ResourcePath &path, const Json &object, const KubeApplyOptions &options)
{
    if (options.fieldManager.empty())
        return fail(ErrorCode::InvalidArgument,
                    "applying " + path.display() + " failed: no field manager was named");
    QueryString query = writeQuery(options);
    query.add("force", options.force ? "true" : "false");
    Call call;
    call.method = "PATCH";
    call.target = path.text() + query.text();
    call.body = object.dump(-1, ' ', false, Json::error_handler_t::replace);
    call.contentType = "application/apply-patch+yaml";
    call.doing = "applying " + path.display();
    return exchangeJson(call, options);
}

Result<Json> KubeClient::remove(const ResourcePath &path, const KubeDeleteOptions &options)
{
    Call call;
    call.method = "DELETE";
    call.target = path.text();
    call.body = deleteBody(options).dump();
    call.contentType = "application/json";
    call.doing = "deleting " + path.display();
    return exchangeJson(call, options);
}

Result<Json> KubeClient::removeCollection(const ResourcePath &path, const KubeListOptions &which,
                                          const KubeDeleteOptions &options)
{
    Call call;
    call.method = "DELETE";
    call.target = path.collection().text() + listQuery(which).text();
    call.body = deleteBody(options).dump();
    call.contentType = "application/json";
    call.doing = "deleting " + path.collection().display();
    return exchangeJson(call, options);
}

Result<Json> KubeClient::modify(const ResourcePath &path, const std::function<bool(Json &)> &change,
                                const KubeWriteOptions &options)
{
    constexpr int longestFight = 8;
    for (int attempt = 1;; ++attempt) {
        Result<Json> object = get(path, options);
        if (!object)
            return object;
        if (!change(*object))
            return object;
        metadataOf(*object).erase("managedFields"); // large, and the server keeps its own
        Result<Json> updated = update(path, *object, options);
        if (updated || updated.error().code != ErrorCode::Aborted || attempt == longestFight)
            return updated;
    }
}

} // namespace cluster
