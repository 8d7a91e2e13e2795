#pragma once

#include "models/chat/conversation.h"
#include <QAbstractListModel>

namespace models {

/// All conversations, newest first, or those found by a search.
class ConversationListModel : public QAbstractListModel
{
    Q_OBJECT

public:
    enum Role { IdRole = Qt::UserRole + 1, TitleRole, DetailRole, UpdatedRole };

    explicit ConversationListModel(QObject *parent = nullptr);

    void setConversations(QVector<ConversationSummary> all);
    /// Shows only these until endSearch(); changes of single conversations go to both lists.
    void showFound(QVector<ConversationSummary> found);
    void endSearch();
    [[nodiscard]] bool isSearching() const { return m_isSearching; }

    void prepend(const ConversationSummary &conversation);
    void touch(qint64 id, const QDateTime &updated, int addedMessages); ///< Moves it to the top.
    void rename(qint64 id, const QString &title);
    void remove(qint64 id);

    [[nodiscard]] qint64 idAt(int row) const { return shown().at(row).id; }
    [[nodiscard]] int rowOf(qint64 id) const; ///< -1 if it is not shown.
    [[nodiscard]] QString titleOf(qint64 id) const;

    int rowCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;

private:
    [[nodiscard]] const QVector<ConversationSummary> &shown() const
    {
        return m_isSearching ? m_found : m_all;
    }
    [[nodiscard]] QVector<ConversationSummary> &shown() { return m_isSearching ? m_found : m_all; }

    QVector<ConversationSummary> m_all;
    QVector<ConversationSummary> m_found;
    bool m_isSearching = false;
};

/// "14:31", "Yesterday", "27 Nov", "27 Nov 2025": short, and never wrong about the day.
QString shortTime(const QDateTime &when, const QDateTime &now);

} // namespace models
