#include "cluster/observe/sqlite_file.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <sqlite3.h>

namespace cluster::detail {

namespace {

/// How long to wait for another process that writes. Writes are short; longer means that it is stuck.
constexpr int busyTimeoutMilliseconds = 2000;

/// Besides the plain code: files that cannot grow, for which SQLite keeps no system error.
bool isDiskFull(int code)
{
    return (code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE;
}

tl::unexpected<Error> sqliteError(sqlite3 *database, const std::string &what)
{
    const int code = sqlite3_extended_errcode(database);
    const char *file = sqlite3_db_filename(database, "main");
    const std::string start = what + " '" + (file != nullptr ? file : "") + "' failed: ";
    const std::string reason = std::string(" (") + sqlite3_errmsg(database) + ")";
    if (isDiskFull(code)) {
        return fail(ErrorCode::ResourceExhausted,
                    start + "it cannot grow, the disk is full or a quota is reached" + reason
                        + "; free some space");
    }
    switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fail(ErrorCode::DataLoss,
                    start + "the file is damaged" + reason + "; move it away to start a new one");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail(ErrorCode::Unavailable,
                    start + "another program holds it" + reason + "; close that and try again");
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
        return fail(ErrorCode::PermissionDenied,
                    start + "it cannot be opened or written" + reason + "; check its rights");
    default:
        return fail(ErrorCode::Internal, start + sqlite3_errstr(code) + reason);
    }
}

} // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt *statement) const
{
    sqlite3_finalize(statement);
}

void SqliteStatement::bind(int place, std::int64_t value)
{
    sqlite3_bind_int64(m_statement.get(), place, value);
}

void SqliteStatement::bind(int place, double value)
{
    sqlite3_bind_double(m_statement.get(), place, value);
}

void SqliteStatement::bind(int place, const std::string &value)
{
    sqlite3_bind_text64(m_statement.get(), place, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

Result<bool> SqliteStatement::step(const std::string &what)
{
    const int code = sqlite3_step(m_statement.get());
    if (code == SQLITE_ROW)
        return true;
    if (code == SQLITE_DONE) {
        reset();
        return false;
    }
    auto error = sqliteError(sqlite3_db_handle(m_statement.get()), what);
    reset();
    return error;
}

void SqliteStatement::reset()
{
    sqlite3_reset(m_statement.get());
}

bool SqliteStatement::isNull(int column) const
{
    return sqlite3_column_type(m_statement.get(), column) == SQLITE_NULL;
}

std::int64_t SqliteStatement::integer(int column) const
{
    return sqlite3_column_int64(m_statement.get(), column);
}

double SqliteStatement::real(int column) const
{
    return isNull(column) ? std::numeric_limits<double>::quiet_NaN()
                          : sqlite3_column_double(m_statement.get(), column);
}

std::string SqliteStatement::text(int column) const
{
    const unsigned char *text = sqlite3_column_text(m_statement.get(), column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column));
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char *>(text), size);
}

void SqliteFile::Close::operator()(sqlite3 *database) const
{
    sqlite3_close_v2(database);
}

Result<SqliteFile> SqliteFile::open(const std::string &path)
{
    std::error_code error;
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty())
        std::filesystem::create_directories(folder, error);
    if (error)
        return fail(ErrorCode::PermissionDenied,
                    "the folder '" + folder.string() + "' cannot be made: " + error.message());
    sqlite3 *database = nullptr;
    const int code = sqlite3_open_v2(
        path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    if (database == nullptr)
        return fail(ErrorCode::ResourceExhausted, "no memory to open '" + path + "'");
    SqliteFile file(database);
    if (code != SQLITE_OK)
        return sqliteError(database, "opening");
    sqlite3_busy_timeout(database, busyTimeoutMilliseconds);
    return file;
}

Status SqliteFile::run(const std::string &sql, const std::string &what)
{
    if (sqlite3_exec(m_database.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return sqliteError(m_database.get(), what);
    return {};
}

Result<SqliteStatement> SqliteFile::prepare(const std::string &sql, const std::string &what) const
{
    sqlite3_stmt *statement = nullptr;
    if (sqlite3_prepare_v2(m_database.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
        return sqliteError(m_database.get(), what);
    return SqliteStatement(statement);
}

Result<std::int64_t> SqliteFile::number(const std::string &sql, const std::string &what) const
{
    auto statement = prepare(sql, what);
    if (!statement)
        return tl::unexpected(statement.error());
    const auto row = statement->step(what);
    if (!row)
        return tl::unexpected(row.error());
    return *row ? statement->integer(0) : 0;
}

std::int64_t SqliteFile::lastRowId() const
{
    return sqlite3_last_insert_rowid(m_database.get());
}

} // namespace cluster::detail
