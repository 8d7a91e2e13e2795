#include "cluster/local/gcp/object_store.h"

#include "cluster/local/gcp/storage_checksums.h"
#include "cluster/local/gcp/storage_errors.h"
#include "cluster/local/gcp/wire_values.h"
#include <algorithm>
#include <chrono>

namespace cluster::local {

using nlohmann::json;

namespace {

/// Names have no line breaks, so a generation behind one can't be a part of another object's name.
std::string versionKey(const std::string &bucket, const std::string &name, std::int64_t generation)
{
    std::string number = std::to_string(generation);
    number.insert(0, 20 - std::min<std::size_t>(20, number.size()), '0');
    return "storage/versions/" + bucket + "/" + name + "\n" + number;
}

std::string liveKey(const std::string &bucket, const std::string &name)
{
    return "storage/objects/" + bucket + "/" + name;
}

StoredObject toObject(const json &value)
{
    return {value.at("resource"), value.value("blob", std::string())};
}

json toValue(const StoredObject &object)
{
    return {{"resource", object.resource}, {"blob", object.blob}};
}

std::int64_t numberIn(const json &resource, const char *field)
{
    const std::string text = resource.value(field, std::string("0"));
    return text.empty() ? 0 : std::stoll(text);
}

std::string etagOf(std::int64_t generation, std::int64_t metageneration)
{
    return base64(std::to_string(generation) + "/" + std::to_string(metageneration));
}

/// Fields that a client may set; the others are the server's.
constexpr const char *kSettable[]
    = {"acl",         "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage",
       "contentType", "customTime",   "eventBasedHold",     "metadata",        "temporaryHold"};

GoogleStatus checkSum(const json &fields, const char *field, const char *called, const std::string &right)
{
    const std::string given = fields.value(field, std::string());
    if (given.empty() || given == right)
        return {};
    return googleFail(ErrorCode::InvalidArgument,
                      std::string("Provided ") + called + " hash \"" + given + "\" doesn't match calculated "
                          + called + " hash \"" + right + "\".");
}

} // namespace

std::int64_t StoredObject::generation() const
{
    return numberIn(resource, "generation");
}

std::int64_t StoredObject::metageneration() const
{
    return numberIn(resource, "metageneration");
}

std::uint64_t StoredObject::size() const
{
    return static_cast<std::uint64_t>(numberIn(resource, "size"));
}

ObjectConditions conditionsOf(const ServerRequest &request, const std::string &prefix)
{
    return {numberOf(request, prefix + "GenerationMatch"), numberOf(request, prefix + "GenerationNotMatch"),
            numberOf(request, prefix + "MetagenerationMatch"),
            numberOf(request, prefix + "MetagenerationNotMatch")};
}

GoogleStatus checkConditions(const std::optional<StoredObject> &live, const ObjectConditions &conditions)
{
    const std::int64_t generation = live ? live->generation() : 0;
    const std::int64_t metageneration = live ? live->metageneration() : 0;
    const bool holds = (!conditions.generation || *conditions.generation == generation)
        && (!conditions.notGeneration || *conditions.notGeneration != generation)
        && (!conditions.metageneration || *conditions.metageneration == metageneration)
        && (!conditions.notMetageneration || *conditions.notMetageneration != metageneration);
    return holds ? GoogleStatus{} : conditionNotMet();
}

GoogleStatus checkObjectName(const std::string &name)
{
    const bool bad = name.empty() || name.size() > 1024 || name == "." || name == ".."
        || name.find_first_of("\r\n") != std::string::npos || name.find('\0') != std::string::npos
        || name.starts_with(".well-known/acme-challenge/");
    if (bad)
        return googleFail(ErrorCode::InvalidArgument,
                          "Invalid object name: it must be 1 to 1024 bytes of UTF-8 without line breaks.");
    try {
        static_cast<void>(json(name).dump()); // throws for what is no UTF-8
    } catch (const json::exception &) {
        return googleFail(ErrorCode::InvalidArgument, "Invalid object name: it is no UTF-8.");
    }
    return {};
}

GoogleResult<std::optional<StoredObject>> ObjectStore::live(const std::string &bucket,
                                                            const std::string &name) const
{
    const auto document = m_context.documents.get(liveKey(bucket, name));
    if (!document)
        return tl::unexpected(toStorageError(document.error()));
    if (!*document)
        return std::nullopt;
    return std::optional<StoredObject>(toObject((*document)->value));
}

GoogleResult<StoredObject> ObjectStore::find(const std::string &bucket, const std::string &name,
                                             std::optional<std::int64_t> generation) const
{
    auto current = live(bucket, name);
    if (!current)
        return tl::unexpected(current.error());
    if (*current && (!generation || (*current)->generation() == *generation))
        return std::move(**current);
    if (generation) {
        const auto old = m_context.documents.get(versionKey(bucket, name, *generation));
        if (!old)
            return tl::unexpected(toStorageError(old.error()));
        if (*old)
            return toObject((*old)->value);
    }
    return noObject(bucket, name);
}

std::int64_t ObjectStore::nextGeneration(std::int64_t after)
{
    using std::chrono::microseconds;
    const auto now = std::chrono::duration_cast<microseconds>(m_context.now().time_since_epoch()).count();
    m_lastGeneration = std::max({static_cast<std::int64_t>(now), m_lastGeneration + 1, after + 1});
    return m_lastGeneration;
}

GoogleStatus ObjectStore::archive(const std::string &bucket, const StoredObject &object)
{
    StoredObject old = object;
    old.resource["timeDeleted"] = rfc3339(m_context.now(), 3);
    const auto written
        = m_context.documents.put(versionKey(bucket, old.name(), old.generation()), toValue(old));
    return written ? GoogleStatus{} : tl::unexpected(toStorageError(written.error()));
}

GoogleResult<StoredObject> ObjectStore::commit(const std::string &bucket, const std::string &name,
                                               const json &fields, const std::string &blob,
                                               const ObjectConditions &conditions, bool keepVersions)
{
    if (const auto valid = checkObjectName(name); !valid)
        return tl::unexpected(valid.error());
    ObjectChecksums sums;
    std::uint64_t size = 0;
    const Status scanned = m_blobs.scan(blob, [&](std::string_view piece) {
        sums.add(piece);
        size += piece.size();
        return true;
    });
    if (!scanned)
        return tl::unexpected(toStorageError(scanned.error()));
    const std::string crc = sums.crc32c();
    const std::string md5 = sums.md5();
    if (const auto right = checkSum(fields, "md5Hash", "MD5", md5); !right)
        return tl::unexpected(right.error());
    if (const auto right = checkSum(fields, "crc32c", "CRC32C", crc); !right)
        return tl::unexpected(right.error());

    const std::lock_guard lock(m_changing);
    const auto old = live(bucket, name);
    if (!old)
        return tl::unexpected(old.error());
    if (const auto holds = checkConditions(*old, conditions); !holds)
        return tl::unexpected(holds.error());
    const std::int64_t generation = nextGeneration(*old ? (*old)->generation() : 0);
    const std::string now = rfc3339(m_context.now(), 3);
    StoredObject object{{{"name", name},
                         {"bucket", bucket},
                         {"generation", std::to_string(generation)},
                         {"metageneration", "1"},
                         {"storageClass", fields.value("storageClass", std::string("STANDARD"))},
                         {"size", std::to_string(size)},
                         {"crc32c", crc},
                         {"etag", etagOf(generation, 1)},
                         {"timeCreated", now},
                         {"updated", now},
                         {"timeStorageClassUpdated", now}},
                        blob};
    if (fields.contains("componentCount")) // a composed object has no MD5
        object.resource["componentCount"] = fields["componentCount"];
    else
        object.resource["md5Hash"] = md5;
    for (const char *field : kSettable) {
        if (fields.contains(field) && !fields[field].is_null())
            object.resource[field] = fields[field];
    }
    if (*old && keepVersions) {
        if (const auto kept = archive(bucket, **old); !kept)
            return tl::unexpected(kept.error());
    }
    const auto written = m_context.documents.put(liveKey(bucket, name), toValue(object));
    if (!written)
        return tl::unexpected(toStorageError(written.error()));
    if (*old && !keepVersions)
        static_cast<void>(m_blobs.remove((*old)->blob)); // else swept at the next start
    return object;
}

GoogleResult<StoredObject> ObjectStore::update(const std::string &bucket, const std::string &name,
                                               std::optional<std::int64_t> generation, const json &fields,
                                               const ObjectConditions &conditions)
{
    const std::lock_guard lock(m_changing);
    auto object = find(bucket, name, generation);
    if (!object)
        return object;
    if (const auto holds = checkConditions(*object, conditions); !holds)
        return tl::unexpected(holds.error());
    for (const char *field : kSettable) {
        if (!fields.contains(field))
            continue;
        if (std::string(field) == "metadata" && fields[field].is_object() && object->resource.contains(field))
            object->resource[field].merge_patch(fields[field]);
        else if (fields[field].is_null())
            object->resource.erase(field);
        else
            object->resource[field] = fields[field];
    }
    const std::int64_t metageneration = object->metageneration() + 1;
    object->resource["metageneration"] = std::to_string(metageneration);
    object->resource["etag"] = etagOf(object->generation(), metageneration);
    object->resource["updated"] = rfc3339(m_context.now(), 3);
    const bool isOld = object->resource.contains("timeDeleted");
    const auto written = m_context.documents.put(
        isOld ? versionKey(bucket, name, object->generation()) : liveKey(bucket, name), toValue(*object));
    if (!written)
        return tl::unexpected(toStorageError(written.error()));
    return object;
}

GoogleStatus ObjectStore::remove(const std::string &bucket, const std::string &name,
                                 std::optional<std::int64_t> generation, const ObjectConditions &conditions,
                                 bool keepVersions)
{
    const std::lock_guard lock(m_changing);
    const auto object = find(bucket, name, generation);
    if (!object)
        return tl::unexpected(object.error());
    if (const auto holds = checkConditions(*object, conditions); !holds)
        return holds;
    const bool isOld = object->resource.contains("timeDeleted");
    const bool archives = keepVersions && !generation && !isOld;
    if (archives) {
        if (const auto kept = archive(bucket, *object); !kept)
            return kept;
    }
    const Status removed = m_context.documents.remove(isOld ? versionKey(bucket, name, object->generation())
                                                            : liveKey(bucket, name));
    if (!removed)
        return tl::unexpected(toStorageError(removed.error()));
    if (!archives)
        static_cast<void>(m_blobs.remove(object->blob)); // else swept at the next start
    return {};
}

GoogleResult<std::set<std::string>> ObjectStore::blobs() const
{
    std::set<std::string> ids;
    for (const char *prefix : {"storage/objects/", "storage/versions/"}) {
        const auto documents = m_context.documents.list(prefix);
        if (!documents)
            return tl::unexpected(toStorageError(documents.error()));
        for (const Document &document : *documents)
            ids.insert(document.value.value("blob", std::string()));
    }
    return ids;
}

} // namespace cluster::local
