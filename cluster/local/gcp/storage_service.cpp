#include "cluster/local/gcp/storage_service.h"

#include "cluster/local/gcp/storage_errors.h"
#include <algorithm>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t kDownloadPiece = std::size_t{256} << 10; // of a streamed download
constexpr std::uint64_t kMostInMemory = std::uint64_t{64} << 20; // of one that isn't

ServerResponse toResponse(const GoogleResult<json> &body)
{
    return body ? jsonResponse(*body) : storageErrorResponse(body.error());
}

ServerResponse toResponse(const GoogleStatus &status)
{
    return status ? ServerResponse{204, {}, {}} : storageErrorResponse(status.error());
}

/// What a path is for, and what follows its "storage/v1".
struct Route
{
    enum class Kind { Plain, Upload, Download, Unknown } kind = Kind::Unknown;
    std::span<const std::string> rest;
};

Route routeOf(std::span<const std::string> path)
{
    Route route;
    std::size_t at = 0;
    if (at < path.size() && path[at] == "resumable")
        ++at;
    const bool isUpload = at < path.size() && path[at] == "upload";
    const bool isDownload = at == 0 && !path.empty() && path[0] == "download";
    if (isUpload || isDownload)
        ++at;
    if (at < path.size() && path[at] == "storage")
        ++at;
    if (at >= path.size() || path[at] != "v1")
        return route;
    route.rest = path.subspan(at + 1);
    route.kind = isUpload ? Route::Kind::Upload : isDownload ? Route::Kind::Download : Route::Kind::Plain;
    return route;
}

/// {"b", BUCKET, "o", NAME} and asked for its bytes.
bool isMedia(const ServerRequest &request, const Route &route)
{
    const bool isObject = route.rest.size() == 4 && route.rest[0] == "b" && route.rest[2] == "o";
    const bool isAsked = route.kind == Route::Kind::Download
        || (route.kind == Route::Kind::Plain && request.queryValue("alt") == "media");
    return isObject && isAsked && request.method == "GET";
}

} // namespace

StorageService::StorageService(GcpContext &context)
    : m_parts(context), m_files(m_parts), m_acls(m_parts), m_buckets(m_parts), m_objects(m_parts),
      m_uploads(m_parts), m_caches(m_parts)
{
}

void StorageService::start()
{
    m_parts.operations.sweep();
    if (!m_parts.blobs.open())
        return; // each request will say what is wrong with the folder
    const auto kept = m_uploads.sweep();
    auto objects = m_parts.objects.blobs();
    if (!kept || !objects)
        return; // then it is not known what may go
    objects->insert(kept->begin(), kept->end());
    static_cast<void>(m_parts.blobs.sweep(*objects)); // leftovers only cost room
}

ServerResponse StorageService::errorFor(const GoogleError &error) const
{
    return storageErrorResponse(error);
}

ServerResponse StorageService::handle(const ServerRequest &request, Path path)
{
    const Route route = routeOf(path);
    if (route.kind == Route::Kind::Unknown)
        return unknownMethodResponse(request);
    if (const auto enabled = checkEnabled(route.rest); !enabled)
        return storageErrorResponse(enabled.error());
    if (route.kind == Route::Kind::Upload)
        return upload(request, route.rest);
    if (!isMedia(request, route))
        return route.kind == Route::Kind::Plain ? this->route(request, route.rest)
                                                : unknownMethodResponse(request);
    auto download = m_objects.download(request, route.rest[1], route.rest[3]);
    if (!download)
        return storageErrorResponse(download.error());
    if (download->length > kMostInMemory)
        return storageErrorResponse({ErrorCode::ResourceExhausted,
                                     "The object is too large for one answer from memory: ask for a range."});
    auto bytes
        = m_parts.blobs.read(download->blob, download->offset, static_cast<std::size_t>(download->length));
    if (!bytes)
        return storageErrorResponse(toStorageError(bytes.error()));
    download->head.body = std::move(*bytes);
    return std::move(download->head);
}

void StorageService::serve(const std::shared_ptr<ServerExchange> &exchange, Path path)
{
    const Route route = routeOf(path);
    if (!isMedia(exchange->request(), route)) {
        GcpService::serve(exchange, path);
        return;
    }
    if (const auto enabled = checkEnabled(route.rest); !enabled) {
        exchange->reply(storageErrorResponse(enabled.error()));
        return;
    }
    auto download = m_objects.download(exchange->request(), route.rest[1], route.rest[3]);
    if (!download) {
        exchange->reply(storageErrorResponse(download.error()));
        return;
    }
    bool isBegun = false;
    for (std::uint64_t done = 0; done < download->length || !isBegun;) {
        const auto wanted
            = static_cast<std::size_t>(std::min<std::uint64_t>(kDownloadPiece, download->length - done));
        auto bytes = m_parts.blobs.read(download->blob, download->offset + done, wanted);
        if (!bytes || bytes->size() < wanted) { // replaced and swept away while it was read
            if (isBegun)
                exchange->cut();
            else
                exchange->reply(storageErrorResponse(toStorageError(
                    bytes ? Error{ErrorCode::NotFound, "The object's bytes are gone."} : bytes.error())));
            return;
        }
        if (!isBegun) {
            download->head.headers.emplace_back("content-length", std::to_string(download->length));
            exchange->begin(download->head.status, std::move(download->head.headers));
            isBegun = true;
        }
        done += bytes->size();
        if (!bytes->empty() && !exchange->writeAndWait(std::move(*bytes)))
            return;
    }
    exchange->end();
}

std::shared_ptr<BodySink> StorageService::openSink(const ServerRequest &request, Path path)
{
    const Route route = routeOf(path);
    const bool isObjects = route.rest.size() == 3 && route.rest[0] == "b" && route.rest[2] == "o";
    if (route.kind != Route::Kind::Upload || !isObjects)
        return nullptr;
    return m_uploads.openSink(request, route.rest[1]);
}

ServerResponse StorageService::upload(const ServerRequest &request, Path rest)
{
    if (rest.size() != 3 || rest[0] != "b" || rest[2] != "o")
        return unknownMethodResponse(request);
    if (const auto id = request.queryValue("upload_id"))
        return request.method == "DELETE" ? m_uploads.cancel(*id) : m_uploads.resume(request, *id);
    if (request.method != "POST")
        return unknownMethodResponse(request);
    return m_uploads.insert(request, rest[1]);
}

ServerResponse StorageService::route(const ServerRequest &request, Path rest)
{
    const bool isGet = request.method == "GET";
    if (rest.size() == 1 && rest[0] == "b" && (isGet || request.method == "POST"))
        return toResponse(isGet ? m_buckets.list(request) : m_buckets.insert(request));
    if (rest.size() >= 2 && rest[0] == "b")
        return ofBucket(request, rest[1], rest.subspan(2));
    if (rest.size() == 3 && rest[0] == "projects" && rest[2] == "serviceAccount" && isGet) {
        const auto project = m_parts.projects.require(rest[1]);
        if (!project)
            return storageErrorResponse(project.error());
        return jsonResponse(
            {{"kind", "storage#serviceAccount"},
             {"email_address",
              "service-" + project->number + "@gs-project-accounts.iam.gserviceaccount.com"}});
    }
    return unknownMethodResponse(request);
}

/// A service that a project has switched off refuses what is in its buckets too.
GoogleStatus StorageService::checkEnabled(Path rest) const
{
    if (rest.size() < 2 || rest[0] != "b")
        return {}; // lists and new buckets name the project, and look themselves
    const auto bucket = findBucket(m_parts, rest[1]);
    if (!bucket)
        return {}; // each method has words of its own for that
    const auto project = m_parts.projects.find(bucket->value("projectId", std::string()));
    if (!project || !*project)
        return {};
    return m_parts.apis.require(**project, kStorageApi);
}

ServerResponse StorageService::ofAcl(const ServerRequest &request, const GoogleResult<json> &body)
{
    if (body && body->is_discarded())
        return unknownMethodResponse(request);
    return body && body->is_null() ? ServerResponse{204, {}, {}} : toResponse(body);
}

ServerResponse StorageService::ofBucket(const ServerRequest &request, const std::string &bucket, Path rest)
{
    const std::string &method = request.method;
    if (rest.empty()) {
        if (method == "GET")
            return toResponse(m_buckets.get(request, bucket));
        if (method == "PATCH" || method == "PUT")
            return toResponse(m_buckets.patch(request, bucket));
        return method == "DELETE" ? toResponse(m_buckets.remove(request, bucket))
                                  : unknownMethodResponse(request);
    }
    if (rest[0] == "o" && rest.size() == 1 && method == "GET")
        return toResponse(m_objects.list(request, bucket));
    if (rest[0] == "o" && rest.size() >= 2)
        return ofObject(request, bucket, rest[1], rest.subspan(2));
    if (rest[0] == "acl" || rest[0] == "defaultObjectAcl")
        return ofAcl(request, m_acls.ofBucket(request, bucket, rest[0], rest.subspan(1)));
    if (rest[0] == "folders" || rest[0] == "managedFolders")
        return ofFolders(request, bucket, rest);
    if (rest[0] == "anywhereCaches" || rest[0] == "operations")
        return ofCaches(request, bucket, rest);
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return storageErrorResponse(there.error());
    if (rest[0] == "storageLayout" && method == "GET")
        return toResponse(m_buckets.layout(bucket));
    if (rest[0] == "iam" && rest.size() == 1 && (method == "GET" || method == "PUT"))
        return toResponse(m_buckets.policy(request, "buckets/" + bucket));
    if (rest[0] == "iam" && rest.size() == 2 && rest[1] == "testPermissions" && method == "GET")
        return jsonResponse(StorageBuckets::permissions(request));
    if (rest[0] == "notificationConfigs" && rest.size() == 1 && method == "GET")
        return jsonResponse({{"kind", "storage#notifications"}}); // there are none here
    return unknownMethodResponse(request);
}

ServerResponse StorageService::ofObject(const ServerRequest &request, const std::string &bucket,
                                        const std::string &name, Path rest)
{
    const std::string &method = request.method;
    if (rest.empty()) {
        if (method == "GET")
            return toResponse(m_objects.get(request, bucket, name));
        if (method == "PATCH" || method == "PUT")
            return toResponse(m_objects.patch(request, bucket, name));
        return method == "DELETE" ? toResponse(m_objects.remove(request, bucket, name))
                                  : unknownMethodResponse(request);
    }
    if (rest[0] == "acl")
        return ofAcl(request, m_acls.ofObject(request, bucket, name, rest.subspan(1)));
    if (method != "POST")
        return unknownMethodResponse(request);
    if (rest.size() == 1 && rest[0] == "compose")
        return toResponse(m_objects.compose(request, bucket, name));
    const bool isCopy = rest.size() == 5 && rest[1] == "b" && rest[3] == "o";
    if (isCopy && (rest[0] == "rewriteTo" || rest[0] == "copyTo"))
        return toResponse(m_objects.copy(request, bucket, name, rest[2], rest[4], rest[0] == "rewriteTo"));
    return unknownMethodResponse(request);
}

ServerResponse StorageService::ofFolders(const ServerRequest &request, const std::string &bucket, Path rest)
{
    const std::string &method = request.method;
    const bool isManaged = rest[0] == "managedFolders";
    StorageFolders folders(m_parts, isManaged);
    if (rest.size() == 1 && (method == "GET" || method == "POST"))
        return toResponse(method == "GET" ? folders.list(request, bucket) : folders.insert(request, bucket));
    if (rest.size() == 2 && method == "GET")
        return toResponse(folders.get(request, bucket, rest[1]));
    if (rest.size() == 2 && method == "DELETE")
        return toResponse(folders.remove(request, bucket, rest[1]));
    if (!isManaged || rest.size() < 3 || rest[2] != "iam")
        return unknownMethodResponse(request);
    const auto folder = folders.get(request, bucket, rest[1]);
    if (!folder)
        return storageErrorResponse(folder.error());
    if (rest.size() == 4)
        return jsonResponse(StorageBuckets::permissions(request));
    return toResponse(m_buckets.policy(
        request, "buckets/" + bucket + "/managedFolders/" + folder->value("name", std::string())));
}

ServerResponse StorageService::ofCaches(const ServerRequest &request, const std::string &bucket, Path rest)
{
    const std::string &method = request.method;
    const bool isGet = method == "GET";
    if (rest[0] == "operations") {
        if (!isGet || rest.size() > 2)
            return unknownMethodResponse(request);
        return toResponse(rest.size() == 2 ? m_caches.operation(bucket, rest[1])
                                           : m_caches.operations(bucket));
    }
    if (rest.size() == 1 && (isGet || method == "POST"))
        return toResponse(isGet ? m_caches.list(request, bucket) : m_caches.insert(request, bucket));
    if (rest.size() == 2 && isGet)
        return toResponse(m_caches.get(request, bucket, rest[1]));
    if (rest.size() == 2 && method == "PATCH")
        return toResponse(m_caches.patch(request, bucket, rest[1]));
    const bool isVerb
        = rest.size() == 3 && (rest[2] == "pause" || rest[2] == "resume" || rest[2] == "disable");
    if (isVerb && method == "POST")
        return toResponse(m_caches.act(request, bucket, rest[1], rest[2]));
    return unknownMethodResponse(request);
}

} // namespace cluster::local
