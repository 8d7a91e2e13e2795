#include "cluster/local/gcp/object_store.h"

#include "cluster/local/gcp/storage_errors.h"
#include <algorithm>

// Listing of ObjectStore: prefixes, delimiters, pages.

namespace cluster::local {

namespace {

constexpr std::size_t kBatch = 1000;
constexpr std::size_t kSmallBatch = 64; // with a delimiter: most of a batch may be jumped over
/// Sorts behind every name that begins with what stands before it: no UTF-8 has this byte.
constexpr const char *kBehindAll = "\xff";

/// One page, filled in the order of names.
class Page
{
public:
    enum class Outcome { Taken, Skipped, NewPrefix, Full };

    explicit Page(const ObjectQuery &query) : m_query(query) {}

    Outcome add(StoredObject object)
    {
        const std::string name = object.name();
        if (!m_query.endOffset.empty() && name >= m_query.endOffset)
            return Outcome::Full;
        if (name < m_query.startOffset || isInLastPrefix(name))
            return Outcome::Skipped;
        const std::string prefix = prefixOf(name);
        if (list.objects.size() + list.prefixes.size() >= m_query.limit) {
            list.next = m_last;
            return Outcome::Full;
        }
        if (prefix.empty()) {
            m_last = name + "\n" + object.resource.value("generation", std::string());
            list.objects.push_back(std::move(object));
            return Outcome::Taken;
        }
        m_last = prefix + kBehindAll;
        list.prefixes.push_back(prefix);
        if (m_query.includeTrailingDelimiter && name == prefix)
            list.objects.push_back(std::move(object));
        return Outcome::NewPrefix;
    }

    ObjectList list;

private:
    [[nodiscard]] std::string prefixOf(const std::string &name) const
    {
        if (m_query.delimiter.empty())
            return {};
        const auto at = name.find(m_query.delimiter, m_query.prefix.size());
        return at == std::string::npos ? std::string() : name.substr(0, at + m_query.delimiter.size());
    }

    [[nodiscard]] bool isInLastPrefix(const std::string &name) const
    {
        return !list.prefixes.empty() && name.starts_with(list.prefixes.back());
    }

    const ObjectQuery &m_query;
    std::string m_last;
};

/// The name behind which a page goes on: the generation in the token only matters among versions.
std::string nameAfter(const std::string &token)
{
    return token.substr(0, token.find('\n'));
}

} // namespace

GoogleResult<bool> ObjectStore::isEmpty(const std::string &bucket) const
{
    for (const char *kind : {"storage/objects/", "storage/versions/"}) {
        const auto first = m_context.documents.list(kind + bucket + "/", {}, 1);
        if (!first)
            return tl::unexpected(toStorageError(first.error()));
        if (!first->empty())
            return false;
    }
    return true;
}

GoogleResult<std::vector<StoredObject>> ObjectStore::allVersions(const std::string &bucket,
                                                                 const std::string &prefix) const
{
    std::vector<StoredObject> all;
    for (const char *kind : {"storage/objects/", "storage/versions/"}) {
        const auto documents = m_context.documents.list(kind + bucket + "/" + prefix);
        if (!documents)
            return tl::unexpected(toStorageError(documents.error()));
        for (const Document &document : *documents)
            all.push_back({document.value.at("resource"), document.value.value("blob", std::string())});
    }
    const auto isBefore = [](const StoredObject &a, const StoredObject &b) {
        return a.name() != b.name() ? a.name() < b.name() : a.generation() < b.generation();
    };
    // The live one stands first among equals: a crash between two writes may have left the same generation
    // in both places.
    std::stable_sort(all.begin(), all.end(), isBefore);
    const auto same
        = [&](const StoredObject &a, const StoredObject &b) { return !isBefore(a, b) && !isBefore(b, a); };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return all;
}

GoogleResult<ObjectList> ObjectStore::list(const std::string &bucket, const ObjectQuery &query) const
{
    Page page(query);
    const std::string root = "storage/objects/" + bucket + "/";
    const auto archived = m_context.documents.list("storage/versions/" + bucket + "/" + query.prefix, {}, 1);
    if (!archived)
        return tl::unexpected(toStorageError(archived.error()));
    if (query.versions && !archived->empty()) {
        auto all = allVersions(bucket, query.prefix);
        if (!all)
            return tl::unexpected(all.error());
        for (StoredObject &object : *all) {
            const std::string key = object.name() + "\n" + object.resource.value("generation", std::string());
            if (key > query.after && page.add(std::move(object)) == Page::Outcome::Full)
                break;
        }
        return std::move(page.list);
    }
    std::string after = query.after.empty() ? std::string() : root + nameAfter(query.after);
    const std::size_t batch = query.delimiter.empty() ? kBatch : kSmallBatch;
    for (;;) {
        const auto documents = m_context.documents.list(root + query.prefix, after, batch);
        if (!documents)
            return tl::unexpected(toStorageError(documents.error()));
        bool jumped = false;
        for (const Document &document : *documents) {
            const auto outcome
                = page.add({document.value.at("resource"), document.value.value("blob", std::string())});
            after = document.key;
            if (outcome == Page::Outcome::Full)
                return std::move(page.list);
            if (outcome == Page::Outcome::NewPrefix) {
                after = root + page.list.prefixes.back() + kBehindAll; // not all below it, one by one
                jumped = true;
                break;
            }
        }
        if (!jumped && documents->size() < batch)
            return std::move(page.list);
    }
}

} // namespace cluster::local
