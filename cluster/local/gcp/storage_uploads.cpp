#include "cluster/local/gcp/storage_uploads.h"

#include "cluster/local/gcp/multipart_related.h"
#include "cluster/local/gcp/storage_acls.h"
#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/storage_folders.h"
#include "cluster/local/gcp/upload_range.h"
#include "cluster/local/gcp/upload_sink.h"
#include "cluster/local/gcp/wire_values.h"
#include <utility>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::chrono::hours kSessionLives{7 * 24};
constexpr int kIdDigits = 48;

std::string uploadKey(const std::string &id)
{
    return "storage/uploads/" + id;
}

json toJson(const ObjectConditions &conditions)
{
    json stored = json::object();
    const std::pair<const char *, std::optional<std::int64_t>> all[]
        = {{"generation", conditions.generation},
           {"notGeneration", conditions.notGeneration},
           {"metageneration", conditions.metageneration},
           {"notMetageneration", conditions.notMetageneration}};
    for (const auto &[name, value] : all) {
        if (value)
            stored[name] = *value;
    }
    return stored;
}

ObjectConditions conditionsFrom(const json &stored)
{
    const auto number = [&](const char *name) {
        return stored.contains(name) ? std::optional<std::int64_t>(stored.at(name).get<std::int64_t>())
                                     : std::nullopt;
    };
    return {number("generation"), number("notGeneration"), number("metageneration"),
            number("notMetageneration")};
}

std::string headerOf(const ServerRequest &request, const char *name)
{
    return std::string(request.header(name).value_or(""));
}

/// What the client says of the object: the body's metadata, completed from the query and the headers.
json fieldsOf(const ServerRequest &request, json fields, const std::string &mediaType)
{
    if (const auto name = request.queryValue("name"))
        fields["name"] = *name;
    if (const auto acl = request.queryValue("predefinedAcl"))
        fields["predefinedAcl"] = *acl; // kept with the session, for the end of the upload
    if (!fields.contains("contentType") && !mediaType.empty())
        fields["contentType"] = mediaType;
    if (const auto encoding = request.queryValue("contentEncoding"))
        fields["contentEncoding"] = *encoding;
    // "crc32c=AAAA==,md5=BBBB=="
    const std::string hashes = headerOf(request, "x-goog-hash") + ",";
    for (std::size_t at = 0; at < hashes.size();) {
        const auto end = hashes.find(',', at);
        const std::string hash = hashes.substr(at, end - at);
        if (hash.starts_with("crc32c="))
            fields["crc32c"] = hash.substr(7);
        if (hash.starts_with("md5="))
            fields["md5Hash"] = hash.substr(4);
        at = end + 1;
    }
    return fields;
}

tl::unexpected<GoogleError> withStatus(int status, std::string message)
{
    return tl::unexpected(GoogleError{ErrorCode::InvalidArgument, std::move(message), json::array(), status});
}

GoogleError notTaken()
{
    return {ErrorCode::Unavailable, "The bytes of this upload could not be taken. Try again.", json::array(),
            503};
}

} // namespace

struct StorageUploads::Session
{
    std::string id;
    json value; ///< bucket, name, fields, conditions, blob, createdAt; resource once it is done
    std::uint64_t size = 0; ///< bytes that are here

    [[nodiscard]] std::string blob() const { return value.value("blob", std::string()); }
    [[nodiscard]] bool isDone() const { return value.contains("resource"); }
};

GoogleResult<json> StorageUploads::commit(const ServerRequest &request, const json &bucket,
                                          const std::string &name, const json &fields,
                                          const std::string &blob, const ObjectConditions &conditions)
{
    FaultContext here;
    here.service = "storage";
    if (m_parts.context.faults.find(FaultKind::DiskFull, here))
        return tl::unexpected(toStorageError(
            {ErrorCode::ResourceExhausted, "The disk of this machine is full (a fault on order)."}));
    auto acl = storageAcl::ofNewObject(bucket, fields);
    if (!acl)
        return acl;
    json complete = fields;
    complete["acl"] = std::move(*acl);
    if (const Status flushed = m_parts.blobs.flush(blob); !flushed)
        return tl::unexpected(toStorageError(flushed.error()));
    const auto made = m_parts.objects.commit(bucket.value("name", std::string()), name, complete, blob,
                                             conditions, keepsVersions(bucket));
    if (!made)
        return tl::unexpected(made.error());
    if (const auto foldered = makeParentFolders(m_parts, bucket, name); !foldered)
        return tl::unexpected(foldered.error());
    return objectResource(request, *made);
}

ServerResponse StorageUploads::insert(const ServerRequest &request, const std::string &bucket)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return storageErrorResponse(there.error());
    const std::string type = request.queryValue("uploadType").value_or("");
    if (type == "resumable") {
        const auto location = begin(request, *there);
        if (!location)
            return storageErrorResponse(location.error());
        return {200,
                {{"location", *location},
                 {"x-guploader-uploadid", location->substr(location->rfind('=') + 1)},
                 {"x-goog-upload-chunk-granularity", "262144"}},
                {}};
    }
    if (type != "media" && type != "multipart")
        return storageErrorResponse(
            {ErrorCode::InvalidArgument,
             "Unknown uploadType '" + type + "': use media, multipart or resumable."});
    const auto resource = type == "media" ? insertMedia(request, *there) : insertMultipart(request, *there);
    return resource ? jsonResponse(*resource) : storageErrorResponse(resource.error());
}

std::shared_ptr<UploadSink> StorageUploads::take(const ServerRequest &request) const
{
    return std::dynamic_pointer_cast<UploadSink>(request.sink);
}

GoogleResult<json> StorageUploads::insertMedia(const ServerRequest &request, const json &bucket)
{
    const json fields = fieldsOf(request, json::object(), headerOf(request, "content-type"));
    const std::string name = fields.value("name", std::string());
    if (const auto valid = checkObjectName(name); !valid)
        return tl::unexpected(valid.error());
    auto sink = take(request);
    if (request.sink && !sink)
        return tl::unexpected(notTaken());
    if (!sink) {
        auto blob = m_parts.blobs.create();
        if (!blob)
            return tl::unexpected(toStorageError(blob.error()));
        sink = std::make_shared<UploadSink>(m_parts.blobs, *blob, 0, 0);
        sink->setTemporary(true);
        sink->write(request.body);
    }
    if (!sink->status())
        return tl::unexpected(toStorageError(sink->status().error()));
    auto resource = commit(request, bucket, name, fields, sink->blob(), conditionsOf(request));
    sink->setTemporary(!resource);
    return resource;
}

GoogleResult<json> StorageUploads::insertMultipart(const ServerRequest &request, const json &bucket)
{
    const auto parts = splitRelated(headerOf(request, "content-type"), request.body);
    if (!parts)
        return tl::unexpected(toStorageError(parts.error()));
    const json given = parts->metadata.empty() ? json::object() : json::parse(parts->metadata);
    const json fields = fieldsOf(request, given, parts->mediaType);
    const std::string name = fields.value("name", std::string());
    if (const auto valid = checkObjectName(name); !valid)
        return tl::unexpected(valid.error());
    auto blob = m_parts.blobs.create();
    if (!blob)
        return tl::unexpected(toStorageError(blob.error()));
    UploadSink sink(m_parts.blobs, *blob, 0, 0);
    sink.setTemporary(true);
    if (!sink.write(parts->media))
        return tl::unexpected(toStorageError(sink.status().error()));
    auto resource = commit(request, bucket, name, fields, *blob, conditionsOf(request));
    sink.setTemporary(!resource);
    return resource;
}

GoogleResult<std::string> StorageUploads::begin(const ServerRequest &request, const json &bucket)
{
    const json fields = fieldsOf(request, bodyOf(request), headerOf(request, "x-upload-content-type"));
    const std::string name = fields.value("name", std::string());
    if (const auto valid = checkObjectName(name); !valid)
        return tl::unexpected(valid.error());
    if (const auto acl = storageAcl::ofNewObject(bucket, fields); !acl)
        return tl::unexpected(acl.error());
    const auto blob = m_parts.blobs.create();
    if (!blob)
        return tl::unexpected(toStorageError(blob.error()));
    const std::string id = randomHex(kIdDigits);
    const std::string bucketName = bucket.value("name", std::string());
    const auto written
        = m_parts.context.documents.put(uploadKey(id),
                                        {{"bucket", bucketName},
                                         {"name", name},
                                         {"fields", fields},
                                         {"conditions", toJson(conditionsOf(request))},
                                         {"blob", *blob},
                                         {"createdAt", millisecondsOf(m_parts.context.now())}});
    if (!written) {
        static_cast<void>(m_parts.blobs.remove(*blob));
        return tl::unexpected(toStorageError(written.error()));
    }
    return storageBase(request) + "/upload/storage/v1/b/" + bucketName
        + "/o?uploadType=resumable&name=" + urlEncoded(name) + "&upload_id=" + id;
}

GoogleResult<StorageUploads::Session> StorageUploads::findSession(const std::string &id) const
{
    const auto document = m_parts.context.documents.get(uploadKey(id));
    if (!document)
        return tl::unexpected(toStorageError(document.error()));
    if (!*document)
        return withStatus(404, "There is no upload of this id: it was cancelled, or is older than a week.");
    Session session{id, (*document)->value, 0};
    if (session.isDone())
        return session;
    const auto size = m_parts.blobs.size(session.blob());
    if (!size)
        return withStatus(410, "The bytes of this upload are gone: begin it anew.");
    session.size = *size;
    return session;
}

GoogleResult<std::shared_ptr<UploadSink>> StorageUploads::sinkFor(const ServerRequest &request,
                                                                  const Session &session)
{
    const auto range = readUploadRange(headerOf(request, "content-range"));
    if (!range)
        return tl::unexpected(toStorageError(range.error()));
    if (range->first > session.size || range->isQuestion)
        return std::shared_ptr<UploadSink>(); // the answer says where to go on
    {
        const std::lock_guard lock(*m_mutex);
        if (!m_busy->insert(session.id).second)
            return tl::unexpected(GoogleError{ErrorCode::Unavailable,
                                              "Another request is writing to this upload. Try again.",
                                              json::array(), 503});
    }
    // Again, now that nobody else writes: the last one may have got on since.
    const auto size = m_parts.blobs.size(session.blob()).value_or(session.size);
    auto sink = std::make_shared<UploadSink>(m_parts.blobs, session.blob(), size, size - range->first);
    sink->onGone([mutex = m_mutex, busy = m_busy, id = session.id] {
        const std::lock_guard lock(*mutex);
        busy->erase(id);
    });
    return sink;
}

std::shared_ptr<BodySink> StorageUploads::openSink(const ServerRequest &request, const std::string &bucket)
{
    // What can't be taken is not read either, however long it is.
    const auto refusal = std::make_shared<RefusingSink>();
    if (const auto id = request.queryValue("upload_id")) {
        const auto session = findSession(*id);
        if (!session || session->isDone())
            return refusal;
        auto sink = sinkFor(request, *session);
        if (!sink || !*sink)
            return refusal;
        return *sink;
    }
    if (request.queryValue("uploadType") != "media")
        return nullptr;
    const auto there = findBucket(m_parts, bucket);
    auto blob = there ? m_parts.blobs.create() : fail(ErrorCode::NotFound, {});
    if (!blob)
        return refusal;
    auto sink = std::make_shared<UploadSink>(m_parts.blobs, *blob, 0, 0);
    sink->setTemporary(true);
    return sink;
}

ServerResponse StorageUploads::incomplete(const Session &session) const
{
    ServerResponse response{308, {{"x-guploader-uploadid", session.id}}, {}};
    if (session.size > 0)
        response.headers.emplace_back("range", "bytes=0-" + std::to_string(session.size - 1));
    return response;
}

ServerResponse StorageUploads::resume(const ServerRequest &request, const std::string &id)
{
    auto session = findSession(id);
    if (!session)
        return storageErrorResponse(session.error());
    if (session->isDone())
        return jsonResponse(session->value.at("resource"));
    const auto range = readUploadRange(headerOf(request, "content-range"));
    if (!range)
        return storageErrorResponse(toStorageError(range.error()));
    auto sink = take(request);
    if (request.sink && !sink && range->first <= session->size)
        return storageErrorResponse(notTaken());
    if (!sink && !request.body.empty()) {
        auto opened = sinkFor(request, *session);
        if (!opened)
            return storageErrorResponse(opened.error());
        sink = *opened;
        if (sink)
            sink->write(request.body);
    }
    if (sink) {
        session->size = sink->size();
        if (!sink->status())
            return storageErrorResponse(toStorageError(sink->status().error()));
        // What is said to be here must be here after a power cut too.
        if (const Status flushed = m_parts.blobs.flush(session->blob()); !flushed)
            return storageErrorResponse(toStorageError(flushed.error()));
    }
    if (range->total && session->size > *range->total)
        return storageErrorResponse(
            {ErrorCode::InvalidArgument, "More bytes were sent than the Content-Range says that there are."});
    // Without a Content-Range the body is all that there is.
    const bool isWhole = range->total ? session->size >= *range->total : !range->isGiven;
    if (!isWhole)
        return incomplete(*session);
    const auto resource = finish(request, *session);
    return resource ? jsonResponse(*resource) : storageErrorResponse(resource.error());
}

GoogleResult<json> StorageUploads::finish(const ServerRequest &request, const Session &session)
{
    const std::string bucket = session.value.value("bucket", std::string());
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return there;
    auto resource = commit(request, *there, session.value.value("name", std::string()),
                           session.value.value("fields", json::object()), session.blob(),
                           conditionsFrom(session.value.value("conditions", json::object())));
    if (resource) {
        json done = session.value;
        done["resource"] = *resource;
        // A client that lost the answer asks again, and is told the same. Without this record it starts anew.
        static_cast<void>(m_parts.context.documents.put(uploadKey(session.id), done));
        return resource;
    }
    const int status = httpStatusOf(resource.error());
    if (status == 400 || status == 412) { // no later try can do better
        static_cast<void>(m_parts.context.documents.remove(uploadKey(session.id)));
        static_cast<void>(m_parts.blobs.remove(session.blob()));
    }
    return resource;
}

ServerResponse StorageUploads::cancel(const std::string &id)
{
    const auto session = findSession(id);
    if (!session)
        return storageErrorResponse(session.error());
    if (const Status removed = m_parts.context.documents.remove(uploadKey(id)); !removed)
        return storageErrorResponse(toStorageError(removed.error()));
    if (!session->isDone())
        static_cast<void>(m_parts.blobs.remove(session->blob()));
    return {499, {}, {}}; // as the real service answers it
}

GoogleResult<std::set<std::string>> StorageUploads::sweep()
{
    const auto documents = m_parts.context.documents.list(uploadKey({}));
    if (!documents)
        return tl::unexpected(toStorageError(documents.error()));
    const std::int64_t oldest = millisecondsOf(m_parts.context.now() - kSessionLives);
    std::set<std::string> blobs;
    for (const Document &document : *documents) {
        if (document.value.value("createdAt", std::int64_t{0}) < oldest)
            static_cast<void>(m_parts.context.documents.remove(document.key));
        else if (!document.value.contains("resource"))
            blobs.insert(document.value.value("blob", std::string()));
    }
    return blobs;
}

} // namespace cluster::local
