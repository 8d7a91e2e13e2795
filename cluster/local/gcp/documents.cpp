#include "cluster/local/gcp/documents.h"

#include "cluster/local/gcp/damaged_store.h"

#include <array>
#include <chrono>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {

namespace {

constexpr const char *kSchema = "CREATE TABLE IF NOT EXISTS documents("
                                " key TEXT PRIMARY KEY, value TEXT NOT NULL, generation INTEGER NOT NULL"
                                ") WITHOUT ROWID;"
                                "CREATE TABLE IF NOT EXISTS counter("
                                " one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL);";

ErrorCode codeOf(int result)
{
    switch (result & 0xff) {
    case SQLITE_FULL:
        return ErrorCode::ResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ErrorCode::DataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ErrorCode::Unavailable;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return ErrorCode::PermissionDenied;
    default:
        return ErrorCode::Internal;
    }
}

tl::unexpected<Error> storeError(sqlite3 *database, int result, std::string_view what)
{
    const std::string advice = codeOf(result) == ErrorCode::DataLoss
        ? "the file is damaged: 'slipwayctl local reset' starts anew, without what was in it"
        : "see that the disk has space and that the file may be written";
    return fail(codeOf(result),
                "The local target's state could not be " + std::string(what) + ": " + sqlite3_errmsg(database)
                    + ". It is in gcp.sqlite of its folder (slipwayctl local status); " + advice + ".");
}

/// One prepared statement with its bindings; finalised at the end of the scope.
class Statement
{
public:
    Statement(sqlite3 *database, std::string_view sql)
    {
        m_result
            = sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &m_statement, nullptr);
    }
    ~Statement() { sqlite3_finalize(m_statement); }
    Statement(const Statement &) = delete;
    Statement &operator=(const Statement &) = delete;

    Statement &bind(int at, std::string_view text)
    {
        // A view of nothing has no address, which SQLite would take for NULL.
        const char *bytes = text.empty() ? "" : text.data();
        sqlite3_bind_text64(m_statement, at, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
        return *this;
    }
    Statement &bind(int at, std::int64_t number)
    {
        sqlite3_bind_int64(m_statement, at, number);
        return *this;
    }
    int step()
    {
        if (m_statement)
            m_result = sqlite3_step(m_statement);
        return m_result;
    }
    std::string text(int column) const
    {
        const auto *bytes = static_cast<const char *>(sqlite3_column_blob(m_statement, column));
        return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(m_statement, column)))
                     : std::string();
    }
    std::int64_t number(int column) const { return sqlite3_column_int64(m_statement, column); }

private:
    sqlite3_stmt *m_statement = nullptr;
    int m_result = SQLITE_OK;
};

/// Rolls back unless committed.
class Transaction
{
public:
    explicit Transaction(sqlite3 *database) : m_database(database)
    {
        m_result = sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    }
    ~Transaction()
    {
        if (m_open)
            sqlite3_exec(m_database, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    Transaction(const Transaction &) = delete;
    Transaction &operator=(const Transaction &) = delete;

    int begun() const { return m_result; }
    int commit()
    {
        m_result = sqlite3_exec(m_database, "COMMIT", nullptr, nullptr, nullptr);
        m_open = m_result != SQLITE_OK;
        return m_result;
    }

private:
    sqlite3 *m_database;
    int m_result;
    bool m_open = true;
};

Result<Document> toDocument(const Statement &row)
{
    Document document{row.text(0), nlohmann::json::parse(row.text(1), nullptr, false), row.number(2)};
    if (document.value.is_discarded())
        return fail(ErrorCode::DataLoss,
                    "The local target's state of '" + document.key
                        + "' is damaged (no JSON). 'slipwayctl local reset' starts anew.");
    return document;
}

/// The first key after all that begin with `prefix`; empty if there is none (prefix of 0xff bytes only).
std::string endOfPrefix(std::string_view prefix)
{
    std::string end(prefix);
    while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff)
        end.pop_back();
    if (!end.empty())
        end.back() = static_cast<char>(end.back() + 1);
    return end;
}

Status makePrivateFile(const std::string &path)
{
    // Made by us first: SQLite would make it with the mode of the process's umask.
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return fail(ErrorCode::PermissionDenied, "cannot open " + path + " for the local target's state");
    ::close(file);
    return {};
}

} // namespace

Result<std::unique_ptr<Documents>> Documents::open(const std::string &path)
{
    if (path != ":memory:") {
        if (auto made = makePrivateFile(path); !made)
            return tl::unexpected(made.error());
    }
    if (const std::string why = visibleDamage(path); !why.empty())
        return damagedStore(path, why);
    sqlite3 *database = nullptr;
    int result = sqlite3_open_v2(path.c_str(), &database,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
    std::unique_ptr<Documents> documents(new Documents(database));
    if (result != SQLITE_OK)
        return storeError(database, result, "opened (" + path + ")");
    sqlite3_extended_result_codes(database, 1);
    sqlite3_busy_timeout(database, 5000);
    // FULL: a commit is on the disk before it returns, also in WAL mode.
    for (const char *sql : {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", kSchema}) {
        result = sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
        if (result == SQLITE_OK)
            continue;
        if (codeOf(result) == ErrorCode::DataLoss)
            return damagedStore(path, sqlite3_errmsg(database));
        return storeError(database, result, "opened (" + path + ")");
    }
    return documents;
}

Documents::~Documents()
{
    sqlite3_close_v2(m_database);
}

Result<std::optional<Document>> Documents::read(std::string_view key) const
{
    Statement query(m_database, "SELECT key, value, generation FROM documents WHERE key = ?");
    const int result = query.bind(1, key).step();
    if (result == SQLITE_DONE)
        return std::nullopt;
    if (result != SQLITE_ROW)
        return storeError(m_database, result, "read");
    auto document = toDocument(query);
    if (!document)
        return tl::unexpected(document.error());
    return std::optional<Document>(std::move(*document));
}

Result<std::optional<Document>> Documents::get(std::string_view key) const
{
    const std::lock_guard lock(m_mutex);
    return read(key);
}

Result<std::vector<Document>> Documents::list(std::string_view prefix, std::string_view after,
                                              std::size_t limit) const
{
    const std::lock_guard lock(m_mutex);
    Statement query(m_database,
                    "SELECT key, value, generation FROM documents"
                    " WHERE key >= ?1 AND (?2 = '' OR key < ?2) AND key > ?3 ORDER BY key LIMIT ?4");
    query.bind(1, prefix).bind(2, endOfPrefix(prefix)).bind(3, after);
    query.bind(4, limit == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(limit));
    std::vector<Document> documents;
    int result = query.step();
    for (; result == SQLITE_ROW; result = query.step()) {
        auto document = toDocument(query);
        if (!document)
            return tl::unexpected(document.error());
        documents.push_back(std::move(*document));
    }
    if (result != SQLITE_DONE)
        return storeError(m_database, result, "read");
    return documents;
}

/// Inside a transaction.
Result<Document> Documents::write(std::string_view key, nlohmann::json value)
{
    if (m_full)
        return fail(ErrorCode::ResourceExhausted, "The disk of the local target is full (a fault on order).");
    ++m_changes;
    Statement count(m_database,
                    "INSERT INTO counter VALUES (1, 1) ON CONFLICT (one) DO UPDATE"
                    " SET generation = generation + 1 RETURNING generation");
    int result = count.step();
    if (result != SQLITE_ROW)
        return storeError(m_database, result, "written");
    Document document{std::string(key), std::move(value), count.number(0)};
    Statement insert(m_database, "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)");
    const std::string text = document.value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    result = insert.bind(1, key).bind(2, text).bind(3, document.generation).step();
    if (result != SQLITE_DONE)
        return storeError(m_database, result, "written");
    return document;
}

namespace {

/// Runs `work` in a transaction that is committed when it succeeds.
template<typename Work>
auto inTransaction(sqlite3 *database, const Work &work) -> decltype(work())
{
    Transaction transaction(database);
    if (transaction.begun() != SQLITE_OK)
        return storeError(database, transaction.begun(), "written");
    auto done = work();
    if (!done)
        return done;
    if (const int result = transaction.commit(); result != SQLITE_OK)
        return storeError(database, result, "written");
    return done;
}

tl::unexpected<Error> missing(std::string_view key)
{
    return fail(ErrorCode::NotFound, "nothing is stored as '" + std::string(key) + "'");
}

} // namespace

Result<Document> Documents::create(std::string_view key, nlohmann::json value)
{
    const std::lock_guard lock(m_mutex);
    return inTransaction(m_database, [&]() -> Result<Document> {
        const auto old = read(key);
        if (!old)
            return tl::unexpected(old.error());
        if (*old)
            return fail(ErrorCode::AlreadyExists, "'" + std::string(key) + "' is stored already");
        return write(key, std::move(value));
    });
}

Result<Document> Documents::put(std::string_view key, nlohmann::json value)
{
    const std::lock_guard lock(m_mutex);
    return inTransaction(m_database, [&] { return write(key, std::move(value)); });
}

Result<Document> Documents::replace(std::string_view key, nlohmann::json value, std::int64_t generation)
{
    const std::lock_guard lock(m_mutex);
    return inTransaction(m_database, [&]() -> Result<Document> {
        const auto old = read(key);
        if (!old)
            return tl::unexpected(old.error());
        if (!*old)
            return missing(key);
        if ((*old)->generation != generation)
            return fail(ErrorCode::Aborted,
                        "'" + std::string(key) + "' was changed by somebody else meanwhile");
        return write(key, std::move(value));
    });
}

Result<Document> Documents::update(std::string_view key,
                                   const std::function<Status(nlohmann::json &)> &change)
{
    const std::lock_guard lock(m_mutex);
    return inTransaction(m_database, [&]() -> Result<Document> {
        auto old = read(key);
        if (!old)
            return tl::unexpected(old.error());
        if (!*old)
            return missing(key);
        if (const Status changed = change((*old)->value); !changed)
            return tl::unexpected(changed.error());
        return write(key, std::move((*old)->value));
    });
}

Status Documents::apply(const std::vector<DocumentChange> &changes)
{
    const std::lock_guard lock(m_mutex);
    return inTransaction(m_database, [&]() -> Status {
        for (const auto &[key, value] : changes) {
            if (!value) {
                if (Status erased = erase(key); !erased)
                    return erased;
            } else if (auto written = write(key, *value); !written) {
                return tl::unexpected(written.error());
            }
        }
        return {};
    });
}

/// Also while the disk is said to be full: deleting is how one gets out of that.
Status Documents::erase(std::string_view key)
{
    ++m_changes;
    Statement statement(m_database, "DELETE FROM documents WHERE key = ?");
    const int result = statement.bind(1, key).step();
    if (result != SQLITE_DONE)
        return storeError(m_database, result, "written");
    return {};
}

Status Documents::remove(std::string_view key)
{
    const std::lock_guard lock(m_mutex);
    if (Status erased = erase(key); !erased)
        return erased;
    if (sqlite3_changes(m_database) == 0)
        return missing(key);
    return {};
}

Result<std::size_t> Documents::removeAll(std::string_view prefix)
{
    const std::lock_guard lock(m_mutex);
    ++m_changes;
    Statement statement(m_database, "DELETE FROM documents WHERE key >= ?1 AND (?2 = '' OR key < ?2)");
    const int result = statement.bind(1, prefix).bind(2, endOfPrefix(prefix)).step();
    if (result != SQLITE_DONE)
        return storeError(m_database, result, "written");
    return static_cast<std::size_t>(sqlite3_changes(m_database));
}

void Documents::setFull(bool full)
{
    const std::lock_guard lock(m_mutex);
    m_full = full;
}

} // namespace cluster::local
