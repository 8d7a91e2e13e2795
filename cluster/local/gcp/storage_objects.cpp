#include "cluster/local/gcp/storage_objects.h"

#include "cluster/local/gcp/storage_acls.h"
#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/storage_folders.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <charconv>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr std::size_t kMostSources = 32; // of one compose

/// "bytes=0-499", "bytes=500-", "bytes=-500". Nothing where the header is to be ignored (RFC 9110, 14.2).
std::optional<std::pair<std::uint64_t, std::uint64_t>> rangeOf(const ServerRequest &request,
                                                               std::uint64_t size, bool &isBehindEnd)
{
    const auto header = request.header("range");
    isBehindEnd = false;
    if (!header || !header->starts_with("bytes=") || header->find(',') != std::string_view::npos)
        return std::nullopt;
    const std::string_view spec = header->substr(6);
    const auto dash = spec.find('-');
    if (dash == std::string_view::npos)
        return std::nullopt;
    const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (text.empty() || failure != std::errc{} || end != text.data() + text.size())
            return std::nullopt;
        return value;
    };
    const auto first = number(spec.substr(0, dash));
    const auto last = number(spec.substr(dash + 1));
    if ((!first && !last) || (first && last && *last < *first))
        return std::nullopt;
    if (!first) { // the last bytes
        isBehindEnd = *last == 0 || size == 0;
        const std::uint64_t count = std::min(*last, size);
        return std::pair{size - count, count};
    }
    isBehindEnd = *first >= size;
    if (isBehindEnd)
        return std::pair{size, std::uint64_t{0}};
    const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
    return std::pair{*first, end - *first + 1};
}

HeaderFields mediaHeaders(const StoredObject &object)
{
    const json &resource = object.resource;
    HeaderFields headers{
        {"content-type", resource.value("contentType", std::string("application/octet-stream"))},
        {"etag", resource.value("etag", std::string())},
        {"accept-ranges", "bytes"},
        {"x-goog-generation", resource.value("generation", std::string())},
        {"x-goog-metageneration", resource.value("metageneration", std::string())},
        {"x-goog-storage-class", resource.value("storageClass", std::string())},
        {"x-goog-stored-content-length", resource.value("size", std::string())}};
    std::string hash = "crc32c=" + resource.value("crc32c", std::string());
    if (resource.contains("md5Hash"))
        hash += ",md5=" + resource.value("md5Hash", std::string());
    headers.emplace_back("x-goog-hash", hash);
    const std::pair<const char *, const char *> optional[] = {{"cacheControl", "cache-control"},
                                                              {"contentDisposition", "content-disposition"},
                                                              {"contentEncoding", "content-encoding"},
                                                              {"contentLanguage", "content-language"}};
    for (const auto &[field, header] : optional) {
        if (resource.contains(field))
            headers.emplace_back(header, resource.value(field, std::string()));
    }
    return headers;
}

GoogleError plainError(int status, std::string message)
{
    return {ErrorCode::InvalidArgument, std::move(message), json::array(), status};
}

/// For reads a NotMatch that doesn't hold is no error: the client has the right one already.
GoogleStatus checkRead(const StoredObject &object, const ServerRequest &request)
{
    const ObjectConditions conditions = conditionsOf(request);
    const bool isSame = (conditions.notGeneration && *conditions.notGeneration == object.generation())
        || (conditions.notMetageneration && *conditions.notMetageneration == object.metageneration());
    if (isSame)
        return tl::unexpected(plainError(304, {}));
    return checkConditions(object, conditions);
}

} // namespace

GoogleResult<json> StorageObjects::list(const ServerRequest &request, const std::string &bucket) const
{
    if (const auto there = findBucket(m_parts, bucket); !there)
        return there;
    const auto page = pageOf(request, "maxResults", 1000, 1000);
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid argument: pageToken");
    ObjectQuery query;
    query.prefix = request.queryValue("prefix").value_or("");
    query.delimiter = request.queryValue("delimiter").value_or("");
    query.startOffset = request.queryValue("startOffset").value_or("");
    query.endOffset = request.queryValue("endOffset").value_or("");
    query.includeTrailingDelimiter = isTrue(request, "includeTrailingDelimiter");
    query.versions = isTrue(request, "versions");
    query.limit = page->size;
    query.after = page->after;
    json answer{{"kind", "storage#objects"}};
    if (isTrue(request, "softDeleted"))
        return answer; // what is deleted here is gone
    auto found = m_parts.objects.list(bucket, query);
    if (!found)
        return tl::unexpected(found.error());
    if (isTrue(request, "includeFoldersAsPrefixes")) {
        const auto folders = folderPrefixes(m_parts, bucket, query.prefix, query.delimiter);
        if (!folders)
            return tl::unexpected(folders.error());
        for (const std::string &folder : *folders) {
            const bool isOnPage = found->next.empty() || folder <= found->next;
            if (folder > query.after && isOnPage)
                found->prefixes.push_back(folder);
        }
        std::sort(found->prefixes.begin(), found->prefixes.end());
        found->prefixes.erase(std::unique(found->prefixes.begin(), found->prefixes.end()),
                              found->prefixes.end());
    }
    json items = json::array();
    for (const StoredObject &object : found->objects)
        items.push_back(objectResource(request, object));
    if (!items.empty())
        answer["items"] = std::move(items);
    if (!found->prefixes.empty())
        answer["prefixes"] = found->prefixes;
    if (!found->next.empty())
        answer["nextPageToken"] = pageTokenAfter(found->next);
    return answer;
}

GoogleResult<json> StorageObjects::get(const ServerRequest &request, const std::string &bucket,
                                       const std::string &name) const
{
    if (const auto there = findBucket(m_parts, bucket); !there)
        return there;
    const auto object = m_parts.objects.find(bucket, name, numberOf(request, "generation"));
    if (!object)
        return tl::unexpected(object.error());
    if (const auto holds = checkRead(*object, request); !holds)
        return tl::unexpected(holds.error());
    return objectResource(request, *object);
}

GoogleResult<Download> StorageObjects::download(const ServerRequest &request, const std::string &bucket,
                                                const std::string &name) const
{
    if (const auto there = findBucket(m_parts, bucket); !there)
        return tl::unexpected(there.error());
    const auto object = m_parts.objects.find(bucket, name, numberOf(request, "generation"));
    if (!object)
        return tl::unexpected(object.error());
    if (const auto holds = checkRead(*object, request); !holds)
        return tl::unexpected(holds.error());
    const std::uint64_t size = object->size();
    Download download{{200, mediaHeaders(*object), {}}, object->blob, 0, size};
    bool isBehindEnd = false;
    if (const auto range = rangeOf(request, size, isBehindEnd)) {
        if (isBehindEnd)
            return tl::unexpected(plainError(416, "The requested range cannot be satisfied."));
        download.head.status = 206;
        download.offset = range->first;
        download.length = range->second;
        download.head.headers.emplace_back("content-range",
                                           "bytes " + std::to_string(range->first) + "-"
                                               + std::to_string(range->first + range->second - 1) + "/"
                                               + std::to_string(size));
    }
    return download;
}

GoogleResult<json> StorageObjects::patch(const ServerRequest &request, const std::string &bucket,
                                         const std::string &name)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return there;
    json fields = bodyOf(request);
    const std::string predefined = request.queryValue("predefinedAcl").value_or("");
    const bool setsAcl = !predefined.empty() || (fields.contains("acl") && fields["acl"].is_array());
    if (setsAcl && isUniform(*there) && (!predefined.empty() || !fields["acl"].empty()))
        return storageAcl::uniformRefusal("update access control for an object");
    fields.erase("owner");
    if (setsAcl && !isUniform(*there)) {
        auto acl = storageAcl::ofNewObject(*there, predefined, fields);
        if (!acl)
            return acl;
        fields["acl"] = std::move(*acl);
    } else {
        fields.erase("acl");
    }
    const auto object = m_parts.objects.update(bucket, name, numberOf(request, "generation"), fields,
                                               conditionsOf(request));
    if (!object)
        return tl::unexpected(object.error());
    return objectResource(request, *object);
}

GoogleStatus StorageObjects::remove(const ServerRequest &request, const std::string &bucket,
                                    const std::string &name)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return tl::unexpected(there.error());
    return m_parts.objects.remove(bucket, name, numberOf(request, "generation"), conditionsOf(request),
                                  keepsVersions(*there));
}

GoogleResult<json> StorageObjects::copy(const ServerRequest &request, const std::string &bucket,
                                        const std::string &name, const std::string &toBucket,
                                        const std::string &toName, bool isRewrite)
{
    const auto target = findBucket(m_parts, toBucket);
    if (const auto from = findBucket(m_parts, bucket); !from || !target)
        return noBucket();
    const auto source = m_parts.objects.find(bucket, name, numberOf(request, "sourceGeneration"));
    if (!source)
        return tl::unexpected(source.error());
    if (const auto holds = checkConditions(*source, conditionsOf(request, "ifSource")); !holds)
        return tl::unexpected(holds.error());
    json fields = source->resource;
    fields.erase("acl"); // a copy has the list of a new object
    if (const json given = bodyOf(request); !given.empty()) {
        fields.erase("metadata"); // what is given replaces all that the source had
        fields.update(given);
    }
    fields["md5Hash"] = source->resource.value("md5Hash", std::string());
    fields["crc32c"] = source->resource.value("crc32c", std::string());
    auto acl = storageAcl::ofNewObject(*target, request.queryValue("destinationPredefinedAcl").value_or(""),
                                       fields);
    if (!acl)
        return acl;
    fields["acl"] = std::move(*acl);
    const auto blob = m_parts.blobs.duplicate(source->blob);
    if (!blob)
        return tl::unexpected(toStorageError(blob.error()));
    if (const Status flushed = m_parts.blobs.flush(*blob); !flushed)
        return tl::unexpected(toStorageError(flushed.error()));
    const auto made = m_parts.objects.commit(toBucket, toName, fields, *blob, conditionsOf(request),
                                             keepsVersions(*target));
    if (!made) {
        static_cast<void>(m_parts.blobs.remove(*blob));
        return tl::unexpected(made.error());
    }
    if (const auto foldered = makeParentFolders(m_parts, *target, toName); !foldered)
        return tl::unexpected(foldered.error());
    json resource = objectResource(request, *made);
    if (!isRewrite)
        return resource;
    const std::string size = made->resource.value("size", std::string());
    return json{{"kind", "storage#rewriteResponse"},
                {"done", true},
                {"objectSize", size},
                {"totalBytesRewritten", size},
                {"resource", std::move(resource)}};
}

GoogleResult<std::string> StorageObjects::concatenated(const std::string &bucket, const json &sources,
                                                       std::int64_t &components)
{
    auto blob = m_parts.blobs.create();
    if (!blob)
        return tl::unexpected(toStorageError(blob.error()));
    const auto give = [&](GoogleError error) -> GoogleResult<std::string> {
        static_cast<void>(m_parts.blobs.remove(*blob));
        return tl::unexpected(std::move(error));
    };
    std::uint64_t offset = 0;
    components = 0;
    for (const json &source : sources) {
        std::optional<std::int64_t> generation;
        if (source.contains("generation"))
            generation = std::stoll(source.value("generation", std::string("0")));
        const std::string name = source.value("name", std::string());
        const auto object = m_parts.objects.find(bucket, name, generation);
        if (!object)
            return give(object.error());
        const json conditions = source.value("objectPreconditions", json::object());
        if (conditions.contains("ifGenerationMatch")
            && conditions.value("ifGenerationMatch", std::string()) != std::to_string(object->generation()))
            return give(conditionNotMet().value());
        components += object->resource.value("componentCount", std::int64_t{1});
        Status written;
        const Status read = m_parts.blobs.scan(object->blob, [&](std::string_view piece) {
            written = m_parts.blobs.write(*blob, offset, piece);
            offset += piece.size();
            return written.has_value();
        });
        if (!read || !written)
            return give(toStorageError(read ? written.error() : read.error()));
    }
    if (const Status flushed = m_parts.blobs.flush(*blob); !flushed)
        return give(toStorageError(flushed.error()));
    return std::move(*blob);
}

GoogleResult<json> StorageObjects::compose(const ServerRequest &request, const std::string &bucket,
                                           const std::string &name)
{
    const auto there = findBucket(m_parts, bucket);
    if (!there)
        return there;
    const json body = bodyOf(request);
    const json sources = body.value("sourceObjects", json::array());
    if (sources.empty() || sources.size() > kMostSources)
        return googleFail(ErrorCode::InvalidArgument,
                          "The number of source components provided (" + std::to_string(sources.size())
                              + ") must be between 1 and 32.");
    json fields = body.value("destination", json::object());
    auto acl = storageAcl::ofNewObject(*there, request.queryValue("destinationPredefinedAcl").value_or(""),
                                       fields);
    if (!acl)
        return acl;
    fields["acl"] = std::move(*acl);
    std::int64_t components = 0;
    const auto blob = concatenated(bucket, sources, components);
    if (!blob)
        return tl::unexpected(blob.error());
    fields["componentCount"] = components;
    const auto made
        = m_parts.objects.commit(bucket, name, fields, *blob, conditionsOf(request), keepsVersions(*there));
    if (!made) {
        static_cast<void>(m_parts.blobs.remove(*blob));
        return tl::unexpected(made.error());
    }
    if (const auto foldered = makeParentFolders(m_parts, *there, name); !foldered)
        return tl::unexpected(foldered.error());
    return objectResource(request, *made);
}

} // namespace cluster::local
