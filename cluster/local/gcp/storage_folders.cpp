#include "cluster/local/gcp/storage_folders.h"

#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <set>

namespace cluster::local {

using nlohmann::json;

namespace {

constexpr const char *kFolders = "storage/folders/";
constexpr const char *kManaged = "storage/managed-folders/";

std::string withSlash(const std::string &name)
{
    return name.ends_with('/') ? name : name + "/";
}

json newFolder(const StorageParts &parts, const std::string &bucket, const std::string &name)
{
    const std::string now = rfc3339(parts.context.now(), 3);
    return {{"name", name},      {"bucket", bucket},  {"id", bucket + "/" + name},
            {"createTime", now}, {"updateTime", now}, {"metageneration", "1"}};
}

/// {"a/", "a/b/"} of "a/b/c".
std::vector<std::string> parentsOf(const std::string &name)
{
    std::vector<std::string> parents;
    for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1))
        parents.push_back(name.substr(0, at + 1));
    return parents;
}

} // namespace

std::string StorageFolders::keyOf(const std::string &bucket, const std::string &name) const
{
    return (m_isManaged ? kManaged : kFolders) + bucket + "/" + name;
}

json StorageFolders::wire(const ServerRequest &request, json folder) const
{
    const std::string kind = m_isManaged ? "managedFolders" : "folders";
    folder["kind"] = m_isManaged ? "storage#managedFolder" : "storage#folder";
    folder["selfLink"] = storageBase(request) + "/storage/v1/b/" + folder.value("bucket", std::string()) + "/"
        + kind + "/" + urlEncoded(folder.value("name", std::string()));
    return folder;
}

GoogleResult<json> StorageFolders::checkedBucket(const std::string &bucket) const
{
    auto found = findBucket(m_parts, bucket);
    if (found && !m_isManaged && !isHierarchical(*found))
        return googleFail(ErrorCode::FailedPrecondition,
                          "The bucket does not support hierarchical namespace.");
    return found;
}

GoogleResult<json> StorageFolders::insert(const ServerRequest &request, const std::string &bucket)
{
    const auto there = checkedBucket(bucket);
    if (!there)
        return there;
    const std::string name = withSlash(bodyOf(request).value("name", std::string()));
    if (const auto valid = checkObjectName(name); !valid || name == "/")
        return googleFail(ErrorCode::InvalidArgument, "Invalid folder name: '" + name + "'");
    const auto parents = parentsOf(name);
    if (!m_isManaged && parents.size() > 1 && !isTrue(request, "recursive")) {
        const auto parent = m_parts.context.documents.get(keyOf(bucket, parents[parents.size() - 2]));
        if (!parent)
            return tl::unexpected(toStorageError(parent.error()));
        if (!*parent)
            return googleFail(ErrorCode::FailedPrecondition,
                              "The parent folder of '" + name + "' does not exist.");
    }
    if (!m_isManaged) {
        if (const auto made = makeParentFolders(m_parts, *there, name.substr(0, name.size() - 1)); !made)
            return tl::unexpected(made.error());
    }
    const auto written
        = m_parts.context.documents.create(keyOf(bucket, name), newFolder(m_parts, bucket, name));
    if (written)
        return wire(request, written->value);
    if (written.error().code == ErrorCode::AlreadyExists)
        return googleFail(ErrorCode::AlreadyExists, "The folder '" + name + "' already exists.");
    return tl::unexpected(toStorageError(written.error()));
}

GoogleResult<json> StorageFolders::list(const ServerRequest &request, const std::string &bucket) const
{
    if (const auto there = checkedBucket(bucket); !there) {
        // gcloud asks without looking first; the real service answers with no folders.
        if (there.error().code == ErrorCode::FailedPrecondition)
            return json{{"kind", "storage#folders"}};
        return there;
    }
    const auto page = pageOf(request, "pageSize", 1000, 1000);
    if (!page)
        return googleFail(ErrorCode::InvalidArgument, "Invalid argument: pageToken");
    const std::string prefix = request.queryValue("prefix").value_or("");
    const std::string delimiter = request.queryValue("delimiter").value_or("");
    const std::string start = request.queryValue("startOffset").value_or("");
    const auto documents = m_parts.context.documents.list(
        keyOf(bucket, prefix), page->after.empty() ? std::string() : keyOf(bucket, page->after));
    if (!documents)
        return tl::unexpected(toStorageError(documents.error()));
    json answer{{"kind", m_isManaged ? "storage#managedFolders" : "storage#folders"}};
    json items = json::array();
    for (const Document &document : *documents) {
        const std::string name = document.value.value("name", std::string());
        const auto deeper = delimiter.empty() ? std::string::npos : name.find(delimiter, prefix.size());
        const bool isBelow = deeper != std::string::npos && deeper + delimiter.size() < name.size();
        if (isBelow || name < start)
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

GoogleResult<json> StorageFolders::get(const ServerRequest &request, const std::string &bucket,
                                       const std::string &name) const
{
    if (const auto there = checkedBucket(bucket); !there)
        return there;
    const auto document = m_parts.context.documents.get(keyOf(bucket, withSlash(name)));
    if (!document)
        return tl::unexpected(toStorageError(document.error()));
    if (!*document)
        return googleFail(ErrorCode::NotFound, "The folder '" + withSlash(name) + "' does not exist.");
    return wire(request, (*document)->value);
}

GoogleStatus StorageFolders::remove(const ServerRequest &request, const std::string &bucket,
                                    const std::string &name)
{
    if (const auto there = checkedBucket(bucket); !there)
        return tl::unexpected(there.error());
    const std::string folder = withSlash(name);
    auto &documents = m_parts.context.documents;
    if (!isTrue(request, "allowNonEmpty")) {
        const auto below = documents.list(keyOf(bucket, folder), {}, 2);
        const auto objects = documents.list("storage/objects/" + bucket + "/" + folder, {}, 1);
        if (!below || !objects)
            return tl::unexpected(toStorageError(below ? objects.error() : below.error()));
        if (below->size() > 1 || !objects->empty())
            return googleFail(ErrorCode::AlreadyExists, "The folder you tried to delete is not empty.");
    }
    const Status removed = documents.remove(keyOf(bucket, folder));
    if (removed)
        return m_isManaged ? m_parts.policies.remove("buckets/" + bucket + "/managedFolders/" + folder)
                           : GoogleStatus{};
    if (removed.error().code == ErrorCode::NotFound)
        return googleFail(ErrorCode::NotFound, "The folder '" + folder + "' does not exist.");
    return tl::unexpected(toStorageError(removed.error()));
}

GoogleStatus makeParentFolders(StorageParts &parts, const json &bucket, const std::string &object)
{
    if (!isHierarchical(bucket))
        return {};
    const std::string name = bucket.value("name", std::string());
    for (const std::string &folder : parentsOf(object)) {
        const std::string key = kFolders + name + "/" + folder;
        const auto there = parts.context.documents.get(key);
        if (there && *there)
            continue;
        const auto made = parts.context.documents.create(key, newFolder(parts, name, folder));
        if (!made && made.error().code != ErrorCode::AlreadyExists)
            return tl::unexpected(toStorageError(made.error()));
    }
    return {};
}

GoogleResult<std::vector<std::string>> folderPrefixes(const StorageParts &parts, const std::string &bucket,
                                                      const std::string &prefix, const std::string &delimiter)
{
    std::set<std::string> prefixes;
    if (delimiter.empty())
        return std::vector<std::string>();
    for (const char *kind : {kFolders, kManaged}) {
        const auto documents = parts.context.documents.list(kind + bucket + "/" + prefix);
        if (!documents)
            return tl::unexpected(toStorageError(documents.error()));
        for (const Document &document : *documents) {
            const std::string name = document.value.value("name", std::string());
            const auto at = name.find(delimiter, prefix.size());
            if (at != std::string::npos)
                prefixes.insert(name.substr(0, at + delimiter.size()));
        }
    }
    return std::vector<std::string>(prefixes.begin(), prefixes.end());
}

} // namespace cluster::local
