#pragma once

#include <QString>
#include <sqlite3.h>
#include <string>

namespace models {

/// One prepared statement of SQLite's C API, finalised with its object. Values are bound in order with
/// bind().
///
/// Errors: the first failing call is kept; step() then returns it, and message() is SQLite's text.
class SqliteStatement
{
public:
    SqliteStatement(sqlite3 *database, const char *sql);
    ~SqliteStatement();
    SqliteStatement(const SqliteStatement &) = delete;
    SqliteStatement &operator=(const SqliteStatement &) = delete;

    SqliteStatement &bind(qint64 value);
    SqliteStatement &bind(const QString &value);

    /// SQLITE_ROW, SQLITE_DONE or an error code.
    int step();
    /// Runs a statement that gives no rows; true if it worked.
    bool run() { return step() == SQLITE_DONE; }
    void reset(); ///< To bind and run it again.

    [[nodiscard]] qint64 integer(int column) const;
    [[nodiscard]] QString text(int column) const;
    [[nodiscard]] int code() const { return m_code; }
    [[nodiscard]] std::string message() const;

private:
    sqlite3 *m_database;
    sqlite3_stmt *m_statement = nullptr;
    int m_code = SQLITE_OK;
    int m_bound = 0;
};

} // namespace models
