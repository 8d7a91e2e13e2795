#pragma once

#include "cluster/base/result.h"
#include <cstdint>
#include <memory>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace cluster::detail {

/// A prepared statement; parameters count from 1, columns from 0, as in SQLite.
class SqliteStatement
{
public:
    explicit SqliteStatement(sqlite3_stmt *statement) : m_statement(statement) {}

    void bind(int place, std::int64_t value);
    void bind(int place, double value); ///< NaN is stored as NULL.
    void bind(int place, const std::string &value);

    /// The next row (true), or the end (false). After the end or an error the statement can be bound anew.
    Result<bool> step(const std::string &what);
    void reset();

    [[nodiscard]] bool isNull(int column) const;
    [[nodiscard]] std::int64_t integer(int column) const;
    [[nodiscard]] double real(int column) const; ///< NaN for NULL.
    [[nodiscard]] std::string text(int column) const;

private:
    struct Finalize
    {
        void operator()(sqlite3_stmt *statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> m_statement;
};

/// A database file. Errors name the file, what was tried, and what to do.
class SqliteFile
{
public:
    static Result<SqliteFile> open(const std::string &path);

    Status run(const std::string &sql, const std::string &what); ///< One or more statements without rows.
    Result<SqliteStatement> prepare(const std::string &sql, const std::string &what) const;
    Result<std::int64_t> number(const std::string &sql, const std::string &what) const; ///< Of the first row.
    [[nodiscard]] std::int64_t lastRowId() const;

private:
    struct Close
    {
        void operator()(sqlite3 *database) const;
    };
    explicit SqliteFile(sqlite3 *database) : m_database(database) {}
    std::unique_ptr<sqlite3, Close> m_database;
};

} // namespace cluster::detail
