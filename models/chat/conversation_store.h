#pragma once

#include "cluster/base/result.h"
#include "models/chat/conversation.h"
#include <memory>

struct sqlite3;

namespace models {

/// Conversations in one SQLite file (WAL, so that a killed program loses at most the text since the last
/// saveProgress()). Ids are chosen by the caller; see ChatIdSource.
///
/// Threads: one at a time; ChatLibrary gives it a thread of its own.
/// Errors:  DataLoss when the file is damaged, ResourceExhausted when the disk is full, Unavailable when
/// another
///          program holds the file, else Internal. The message names the file.
class ConversationStore
{
public:
    struct Opened
    {
        std::unique_ptr<ConversationStore> store;
        QString movedAside; ///< Where a damaged file was put; empty if there was none.
        int cutAnswers = 0; ///< Answers that were being written when the program last ended.
    };

    /// Opens or creates `file`. A damaged one is renamed to `file`.damaged-<time> and a new one begun: the
    /// rest of the program must not stand still for it, and nothing is deleted.
    static cluster::Result<Opened> open(const QString &file, const QDateTime &now);
    ~ConversationStore();
    ConversationStore(const ConversationStore &) = delete;
    ConversationStore &operator=(const ConversationStore &) = delete;

    /// All conversations, newest first.
    [[nodiscard]] cluster::Result<QVector<ConversationSummary>> list() const;
    /// Conversations with `text` in a title or message, newest first, at most `limit`.
    [[nodiscard]] cluster::Result<QVector<ConversationSummary>> search(const QString &text, int limit) const;
    [[nodiscard]] cluster::Result<Conversation> load(qint64 conversation) const;

    cluster::Status create(const Conversation &conversation); ///< Without its path.
    cluster::Status rename(qint64 conversation, const QString &title);
    cluster::Status saveSettings(const Conversation &conversation); ///< System prompt, model, parameters.
    cluster::Status remove(qint64 conversation);

    /// Adds the message as the new end of the branch that is shown.
    cluster::Status addMessage(qint64 conversation, const ChatMessage &message);
    cluster::Status saveProgress(const ChatMessage &message); ///< Text so far; not yet searchable.
    cluster::Status finishMessage(const ChatMessage &message); ///< Last text, state, measurements.
    /// Shows the branch through the sibling of `message` that is `step` places further.
    cluster::Status showVariant(qint64 conversation, qint64 message, int step);

private:
    ConversationStore(sqlite3 *database, QString file);
    [[nodiscard]] cluster::Status prepare();
    [[nodiscard]] cluster::Status execute(const char *sql) const;
    [[nodiscard]] tl::unexpected<cluster::Error> failure(const char *what) const;
    [[nodiscard]] cluster::Result<int> cutUnfinished();
    [[nodiscard]] cluster::Status index(const ChatMessage &message);

    sqlite3 *m_database;
    QString m_file;
};

} // namespace models
