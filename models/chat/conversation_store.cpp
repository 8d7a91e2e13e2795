#include "models/chat/conversation_store.h"

#include "models/chat/conversation_codec.h"
#include "models/chat/sqlite_statement.h"
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>

namespace models {
namespace {

// Trigrams find any part of a word in any script; they need three letters, shorter questions use LIKE.
constexpr const char *schema = R"sql(
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS conversations (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, system_prompt TEXT NOT NULL, model TEXT NOT NULL,
    parameters TEXT NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0, leaf INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS conversations_by_time ON conversations (updated_ms DESC, title, message_count);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, parent INTEGER NOT NULL, role INTEGER NOT NULL,
    state INTEGER NOT NULL, content TEXT NOT NULL, reasoning TEXT NOT NULL, model TEXT NOT NULL,
    error TEXT NOT NULL, created_ms INTEGER NOT NULL, measurements TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS messages_by_parent ON messages (conversation, parent, id);
CREATE INDEX IF NOT EXISTS messages_unfinished ON messages (state) WHERE state = 1;
CREATE VIRTUAL TABLE IF NOT EXISTS message_text USING fts5(content, tokenize = 'trigram');
)sql";

constexpr int shortestTrigramQuery = 3;

QString jsonText(const QJsonObject &json)
{
    return QString::fromUtf8(QJsonDocument(json).toJson(QJsonDocument::Compact));
}

QJsonObject jsonObject(const QString &text)
{
    return QJsonDocument::fromJson(text.toUtf8()).object();
}

QString escapedForLike(QString text)
{
    for (const QChar special : {QLatin1Char('\\'), QLatin1Char('%'), QLatin1Char('_')})
        text.replace(special, QStringLiteral("\\") + special);
    return QLatin1Char('%') + text + QLatin1Char('%');
}

/// `file` and what SQLite keeps beside it get out of the way; nothing is deleted.
QString moveAside(const QString &file, const QDateTime &now)
{
    const QString stamp = now.toUTC().toString(QStringLiteral("yyyyMMdd-HHmmss"));
    QString target = file + QStringLiteral(".damaged-") + stamp;
    for (int attempt = 2; QFileInfo::exists(target); ++attempt)
        target = file + QStringLiteral(".damaged-%1-%2").arg(stamp).arg(attempt);
    for (const auto &suffix : {QString(), QStringLiteral("-wal"), QStringLiteral("-shm")})
        QFile::rename(file + suffix, target + suffix);
    return target;
}

cluster::ErrorCode codeOf(int sqliteCode)
{
    switch (sqliteCode & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return cluster::ErrorCode::DataLoss;
    case SQLITE_FULL:
        return cluster::ErrorCode::ResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return cluster::ErrorCode::Unavailable;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return cluster::ErrorCode::PermissionDenied;
    case SQLITE_CONSTRAINT:
        return cluster::ErrorCode::AlreadyExists;
    default:
        return cluster::ErrorCode::Internal;
    }
}

/// In UTC: the local time of 30,000 rows costs more than reading them, and few are ever shown.
ConversationSummary summaryOf(const SqliteStatement &row)
{
    return {.id = row.integer(0),
            .title = row.text(1),
            .updated = QDateTime::fromMSecsSinceEpoch(row.integer(2), Qt::UTC),
            .messageCount = static_cast<int>(row.integer(3)),
            .snippet = {}};
}

ChatMessage messageOf(const SqliteStatement &row)
{
    ChatMessage message;
    message.id = row.integer(0);
    message.parent = row.integer(1);
    message.role = static_cast<ChatRole>(row.integer(2));
    message.state = static_cast<MessageState>(row.integer(3));
    message.content = row.text(4);
    message.reasoning = row.text(5);
    message.model = row.text(6);
    message.error = row.text(7);
    message.created = QDateTime::fromMSecsSinceEpoch(row.integer(8));
    message.measurements = measurementsFromJson(jsonObject(row.text(9)));
    message.variant = static_cast<int>(row.integer(10));
    message.variantCount = static_cast<int>(row.integer(11));
    return message;
}

} // namespace

ConversationStore::ConversationStore(sqlite3 *database, QString file)
    : m_database(database), m_file(std::move(file))
{
}

ConversationStore::~ConversationStore()
{
    sqlite3_close_v2(m_database);
}

tl::unexpected<cluster::Error> ConversationStore::failure(const char *what) const
{
    const int code = sqlite3_extended_errcode(m_database);
    std::string message = std::string("Cannot ") + what + ": " + sqlite3_errmsg(m_database) + " ("
        + QFile::encodeName(m_file).toStdString() + ").";
    if ((code & 0xff) == SQLITE_FULL)
        message += " Free some space on the disk; what you see is not saved until then.";
    return cluster::fail(codeOf(code), std::move(message));
}

cluster::Status ConversationStore::execute(const char *sql) const
{
    if (sqlite3_exec(m_database, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        return failure("prepare the chat history");
    return {};
}

cluster::Status ConversationStore::prepare()
{
    sqlite3_busy_timeout(m_database, 5000); // ms: another window may be writing
    if (auto done
        = execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;");
        !done)
        return done;
    SqliteStatement check(m_database, "PRAGMA quick_check(1)");
    const int code = check.step();
    if (code != SQLITE_ROW)
        return failure("check the chat history");
    if (check.text(0) != QLatin1String("ok"))
        return cluster::fail(cluster::ErrorCode::DataLoss,
                             "The chat history is damaged: " + check.text(0).toStdString());
    return execute(schema);
}

cluster::Result<ConversationStore::Opened> ConversationStore::open(const QString &file, const QDateTime &now)
{
    QDir().mkpath(QFileInfo(file).absolutePath());
    Opened opened;
    for (int attempt = 0; attempt < 2; ++attempt) {
        sqlite3 *database = nullptr;
        const QByteArray name = QFile::encodeName(file);
        const int code
            = sqlite3_open_v2(name.constData(), &database,
                              SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
        opened.store.reset(new ConversationStore(database, file));
        if (code != SQLITE_OK)
            return opened.store->failure("open the chat history");
        const cluster::Status prepared = opened.store->prepare();
        if (prepared) {
            const auto cut = opened.store->cutUnfinished();
            if (!cut)
                return tl::unexpected(cut.error());
            opened.cutAnswers = *cut;
            return opened;
        }
        if (prepared.error().code != cluster::ErrorCode::DataLoss || attempt == 1)
            return tl::unexpected(prepared.error());
        opened.store.reset();
        opened.movedAside = moveAside(file, now);
    }
    return cluster::fail(cluster::ErrorCode::Internal, "Cannot open the chat history.");
}

cluster::Result<int> ConversationStore::cutUnfinished()
{
    QVector<ChatMessage> unfinished;
    SqliteStatement query(m_database, "SELECT id, content FROM messages WHERE state = 1");
    while (query.step() == SQLITE_ROW) {
        ChatMessage message;
        message.id = query.integer(0);
        message.content = query.text(1);
        unfinished.append(message);
    }
    for (const ChatMessage &message : unfinished) {
        SqliteStatement update(m_database, "UPDATE messages SET state = 2, error = ? WHERE id = ?");
        update.bind(QStringLiteral("Slipway ended while this answer was being written.")).bind(message.id);
        if (!update.run())
            return failure("mark an unfinished answer");
        if (auto done = index(message); !done)
            return tl::unexpected(done.error());
    }
    return static_cast<int>(unfinished.size());
}

cluster::Result<QVector<ConversationSummary>> ConversationStore::list() const
{
    SqliteStatement query(
        m_database,
        "SELECT id, title, updated_ms, message_count FROM conversations ORDER BY updated_ms DESC");
    QVector<ConversationSummary> found;
    while (query.step() == SQLITE_ROW)
        found.append(summaryOf(query));
    if (query.code() != SQLITE_DONE)
        return failure("list the conversations");
    return found;
}

cluster::Result<QVector<ConversationSummary>> ConversationStore::search(const QString &text, int limit) const
{
    const bool trigrams = text.size() >= shortestTrigramQuery;
    const QString like = escapedForLike(text);
    QString phrase = text;
    phrase.replace(QLatin1Char('"'), QStringLiteral("\"\""));
    // The hits come first and by themselves: snippet() can't be used beside an aggregate.
    SqliteStatement query(
        m_database,
        trigrams
            ? "WITH hit AS MATERIALIZED (SELECT m.conversation AS conversation, "
              "snippet(message_text, 0, '', '', '…', 24) AS part "
              "FROM message_text JOIN messages m ON m.id = message_text.rowid WHERE message_text MATCH ?1), "
              "found AS (SELECT conversation, min(part) AS part FROM hit GROUP BY conversation) "
              "SELECT c.id, c.title, c.updated_ms, c.message_count, coalesce(found.part, '') "
              "FROM conversations c LEFT JOIN found ON found.conversation = c.id "
              "WHERE found.conversation IS NOT NULL OR c.title LIKE ?2 ESCAPE '\\' "
              "ORDER BY c.updated_ms DESC LIMIT ?3"
            : "SELECT c.id, c.title, c.updated_ms, c.message_count, '' FROM conversations c "
              "WHERE ?1 = ?1 AND (c.title LIKE ?2 ESCAPE '\\' OR EXISTS (SELECT 1 FROM messages m "
              "WHERE m.conversation = c.id AND m.content LIKE ?2 ESCAPE '\\')) "
              "ORDER BY c.updated_ms DESC LIMIT ?3");
    query.bind(QLatin1Char('"') + phrase + QLatin1Char('"')).bind(like).bind(static_cast<qint64>(limit));
    QVector<ConversationSummary> found;
    while (query.step() == SQLITE_ROW) {
        found.append(summaryOf(query));
        found.last().snippet = query.text(4).simplified();
    }
    if (query.code() != SQLITE_DONE)
        return failure("search the conversations");
    return found;
}

cluster::Result<Conversation> ConversationStore::load(qint64 id) const
{
    SqliteStatement head(
        m_database,
        "SELECT title, system_prompt, model, parameters, created_ms FROM conversations WHERE id = ?");
    head.bind(id);
    const int code = head.step();
    if (code == SQLITE_DONE)
        return cluster::fail(cluster::ErrorCode::NotFound, "This conversation has been deleted.");
    if (code != SQLITE_ROW)
        return failure("open the conversation");
    Conversation conversation;
    conversation.id = id;
    conversation.title = head.text(0);
    conversation.systemPrompt = head.text(1);
    conversation.model = head.text(2);
    conversation.parameters = parametersFromJson(jsonObject(head.text(3)));
    conversation.created = QDateTime::fromMSecsSinceEpoch(head.integer(4));

    // From the leaf up to the root. `depth` also ends a circle, which only a damaged file could hold.
    SqliteStatement rows(
        m_database,
        "WITH RECURSIVE branch(id, depth) AS (SELECT leaf, 0 FROM conversations WHERE id = ?1 UNION ALL "
        "SELECT m.parent, depth + 1 FROM branch JOIN messages m ON m.id = branch.id WHERE m.parent <> 0 AND "
        "depth < "
        "1000000) "
        "SELECT m.id, m.parent, m.role, m.state, m.content, m.reasoning, m.model, m.error, m.created_ms, "
        "m.measurements, "
        "(SELECT count(*) FROM messages s WHERE s.conversation = ?1 AND s.parent = m.parent AND s.id <= "
        "m.id), "
        "(SELECT count(*) FROM messages s WHERE s.conversation = ?1 AND s.parent = m.parent) "
        "FROM branch JOIN messages m ON m.id = branch.id ORDER BY branch.depth DESC");
    rows.bind(id);
    while (rows.step() == SQLITE_ROW)
        conversation.path.append(messageOf(rows));
    if (rows.code() != SQLITE_DONE)
        return failure("open the conversation");
    return conversation;
}

cluster::Status ConversationStore::create(const Conversation &conversation)
{
    SqliteStatement insert(m_database,
                           "INSERT INTO conversations (id, title, system_prompt, model, parameters, "
                           "created_ms, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)");
    insert.bind(conversation.id)
        .bind(conversation.title)
        .bind(conversation.systemPrompt)
        .bind(conversation.model)
        .bind(jsonText(toJson(conversation.parameters)))
        .bind(conversation.created.toMSecsSinceEpoch());
    if (!insert.run())
        return failure("save the conversation");
    return {};
}

cluster::Status ConversationStore::rename(qint64 conversation, const QString &title)
{
    SqliteStatement update(m_database, "UPDATE conversations SET title = ? WHERE id = ?");
    if (!update.bind(title).bind(conversation).run())
        return failure("rename the conversation");
    return {};
}

cluster::Status ConversationStore::saveSettings(const Conversation &conversation)
{
    SqliteStatement update(
        m_database, "UPDATE conversations SET system_prompt = ?, model = ?, parameters = ? WHERE id = ?");
    update.bind(conversation.systemPrompt)
        .bind(conversation.model)
        .bind(jsonText(toJson(conversation.parameters)))
        .bind(conversation.id);
    if (!update.run())
        return failure("save the settings of the conversation");
    return {};
}

cluster::Status ConversationStore::remove(qint64 conversation)
{
    if (auto begun = execute("BEGIN IMMEDIATE"); !begun)
        return begun;
    for (const char *sql :
         {"DELETE FROM message_text WHERE rowid IN (SELECT id FROM messages WHERE conversation = ?)",
          "DELETE FROM messages WHERE conversation = ?", "DELETE FROM conversations WHERE id = ?"}) {
        if (!SqliteStatement(m_database, sql).bind(conversation).run()) {
            const auto failed = failure("delete the conversation");
            (void)execute("ROLLBACK");
            return failed;
        }
    }
    return execute("COMMIT");
}

cluster::Status ConversationStore::addMessage(qint64 conversation, const ChatMessage &message)
{
    if (auto begun = execute("BEGIN IMMEDIATE"); !begun)
        return begun;
    SqliteStatement insert(
        m_database,
        "INSERT INTO messages (id, conversation, parent, role, state, content, reasoning, model, "
        "error, created_ms, measurements) VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    insert.bind(message.id).bind(conversation).bind(message.parent).bind(static_cast<qint64>(message.role));
    insert.bind(static_cast<qint64>(message.state)).bind(message.content).bind(message.reasoning);
    insert.bind(message.model).bind(message.error).bind(message.created.toMSecsSinceEpoch());
    insert.bind(jsonText(toJson(message.measurements)));
    SqliteStatement head(m_database,
                         "UPDATE conversations SET leaf = ?, updated_ms = max(updated_ms, ?), "
                         "message_count = message_count + 1 WHERE id = ?");
    head.bind(message.id).bind(message.created.toMSecsSinceEpoch()).bind(conversation);
    if (!insert.run() || !head.run()) {
        const auto failed = failure("save the message");
        (void)execute("ROLLBACK");
        return failed;
    }
    if (message.state != MessageState::Streaming)
        if (auto indexed = index(message); !indexed) {
            (void)execute("ROLLBACK");
            return indexed;
        }
    return execute("COMMIT");
}

cluster::Status ConversationStore::index(const ChatMessage &message)
{
    SqliteStatement insert(m_database, "INSERT OR REPLACE INTO message_text (rowid, content) VALUES (?, ?)");
    if (!insert.bind(message.id).bind(message.content).run())
        return failure("make the message searchable");
    return {};
}

cluster::Status ConversationStore::saveProgress(const ChatMessage &message)
{
    SqliteStatement update(m_database, "UPDATE messages SET content = ?, reasoning = ? WHERE id = ?");
    if (!update.bind(message.content).bind(message.reasoning).bind(message.id).run())
        return failure("save the answer so far");
    return {};
}

cluster::Status ConversationStore::finishMessage(const ChatMessage &message)
{
    if (auto begun = execute("BEGIN IMMEDIATE"); !begun)
        return begun;
    SqliteStatement update(m_database,
                           "UPDATE messages SET content = ?, reasoning = ?, state = ?, error = ?, model = ?, "
                           "measurements = ? WHERE id = ?");
    update.bind(message.content).bind(message.reasoning).bind(static_cast<qint64>(message.state));
    update.bind(message.error)
        .bind(message.model)
        .bind(jsonText(toJson(message.measurements)))
        .bind(message.id);
    if (!update.run()) {
        const auto failed = failure("save the answer");
        (void)execute("ROLLBACK");
        return failed;
    }
    if (auto indexed = index(message); !indexed) {
        (void)execute("ROLLBACK");
        return indexed;
    }
    return execute("COMMIT");
}

cluster::Status ConversationStore::showVariant(qint64 conversation, qint64 message, int step)
{
    // The sibling, then always its newest child: that is the branch that was last written there.
    SqliteStatement query(
        m_database,
        step > 0 ? "SELECT s.id FROM messages m JOIN messages s ON s.conversation = m.conversation "
                   "AND s.parent = m.parent WHERE m.id = ? AND s.id > m.id ORDER BY s.id LIMIT 1 OFFSET ?"
                 : "SELECT s.id FROM messages m JOIN messages s ON s.conversation = m.conversation "
                   "AND s.parent = m.parent WHERE m.id = ? AND s.id < m.id ORDER BY s.id DESC LIMIT 1 "
                   "OFFSET ?");
    if (query.bind(message).bind(static_cast<qint64>(std::abs(step) - 1)).step() != SQLITE_ROW)
        return cluster::fail(cluster::ErrorCode::NotFound, "There is no further version of this message.");
    SqliteStatement update(
        m_database,
        "UPDATE conversations SET leaf = (WITH RECURSIVE down(id) AS (VALUES(?1) UNION ALL SELECT (SELECT "
        "max(c.id) FROM "
        "messages c WHERE c.conversation = ?2 AND c.parent = down.id) FROM down WHERE down.id IS NOT NULL) "
        "SELECT id FROM down WHERE id IS NOT NULL ORDER BY id DESC LIMIT 1) WHERE id = ?2");
    if (!update.bind(query.integer(0)).bind(conversation).run())
        return failure("show the other version");
    return {};
}

} // namespace models
