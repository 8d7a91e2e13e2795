#include "models/chat/sqlite_statement.h"

namespace models {

SqliteStatement::SqliteStatement(sqlite3 *database, const char *sql) : m_database(database)
{
    m_code = sqlite3_prepare_v2(database, sql, -1, &m_statement, nullptr);
}

SqliteStatement::~SqliteStatement()
{
    sqlite3_finalize(m_statement);
}

SqliteStatement &SqliteStatement::bind(qint64 value)
{
    if (m_code == SQLITE_OK)
        m_code = sqlite3_bind_int64(m_statement, ++m_bound, value);
    return *this;
}

SqliteStatement &SqliteStatement::bind(const QString &value)
{
    if (m_code == SQLITE_OK) {
        const QByteArray utf8 = value.toUtf8();
        m_code = sqlite3_bind_text64(m_statement, ++m_bound, utf8.constData(),
                                     static_cast<sqlite3_uint64>(utf8.size()), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    return *this;
}

int SqliteStatement::step()
{
    if (m_code == SQLITE_OK || m_code == SQLITE_ROW)
        m_code = sqlite3_step(m_statement);
    return m_code;
}

void SqliteStatement::reset()
{
    m_code = sqlite3_reset(m_statement);
    m_bound = 0;
}

qint64 SqliteStatement::integer(int column) const
{
    return sqlite3_column_int64(m_statement, column);
}

QString SqliteStatement::text(int column) const
{
    const auto *bytes = reinterpret_cast<const char *>(sqlite3_column_text(m_statement, column));
    return QString::fromUtf8(bytes, sqlite3_column_bytes(m_statement, column));
}

std::string SqliteStatement::message() const
{
    return sqlite3_errmsg(m_database);
}

} // namespace models
