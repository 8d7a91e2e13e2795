#include "models/chat/conversation_list_model.h"

#include <QLocale>
#include <algorithm>

namespace models {
namespace {

int findId(const QVector<ConversationSummary> &list, qint64 id)
{
    const auto at
        = std::find_if(list.begin(), list.end(), [id](const ConversationSummary &c) { return c.id == id; });
    return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}

} // namespace

QString shortTime(const QDateTime &when, const QDateTime &now)
{
    const QDateTime time = when.toLocalTime();
    const qint64 days = time.date().daysTo(now.date());
    const QLocale locale;
    if (days == 0)
        return locale.toString(time.time(), QStringLiteral("HH:mm"));
    if (days == 1)
        return ConversationListModel::tr("Yesterday");
    if (time.date().year() == now.date().year())
        return locale.toString(time.date(), QStringLiteral("d MMM"));
    return locale.toString(time.date(), QStringLiteral("d MMM yyyy"));
}

ConversationListModel::ConversationListModel(QObject *parent) : QAbstractListModel(parent) {}

void ConversationListModel::setConversations(QVector<ConversationSummary> all)
{
    beginResetModel();
    // What was begun while the list was being read is newer than the list.
    for (auto known = m_all.crbegin(); known != m_all.crend(); ++known)
        if (findId(all, known->id) < 0)
            all.prepend(*known);
    m_all = std::move(all);
    m_isSearching = false;
    endResetModel();
}

void ConversationListModel::showFound(QVector<ConversationSummary> found)
{
    beginResetModel();
    m_found = std::move(found);
    m_isSearching = true;
    endResetModel();
}

void ConversationListModel::endSearch()
{
    if (!m_isSearching)
        return;
    beginResetModel();
    m_isSearching = false;
    m_found.clear();
    endResetModel();
}

void ConversationListModel::prepend(const ConversationSummary &conversation)
{
    if (m_isSearching) {
        m_all.prepend(conversation);
        return;
    }
    beginInsertRows({}, 0, 0);
    m_all.prepend(conversation);
    endInsertRows();
}

void ConversationListModel::touch(qint64 id, const QDateTime &updated, int addedMessages)
{
    for (QVector<ConversationSummary> *list : {&m_all, &m_found}) {
        const int row = findId(*list, id);
        if (row < 0)
            continue;
        (*list)[row].updated = updated;
        (*list)[row].messageCount += addedMessages;
        const bool isShown = list == &shown();
        if (row > 0 && list == &m_all) {
            if (isShown)
                beginMoveRows({}, row, row, {}, 0);
            list->move(row, 0);
            if (isShown)
                endMoveRows();
        }
        if (isShown)
            emit dataChanged(index(list == &m_all ? 0 : row), index(list == &m_all ? 0 : row));
    }
}

void ConversationListModel::rename(qint64 id, const QString &title)
{
    for (QVector<ConversationSummary> *list : {&m_all, &m_found}) {
        const int row = findId(*list, id);
        if (row < 0)
            continue;
        (*list)[row].title = title;
        if (list == &shown())
            emit dataChanged(index(row), index(row));
    }
}

void ConversationListModel::remove(qint64 id)
{
    for (QVector<ConversationSummary> *list : {&m_all, &m_found}) {
        const int row = findId(*list, id);
        if (row < 0)
            continue;
        const bool isShown = list == &shown();
        if (isShown)
            beginRemoveRows({}, row, row);
        list->removeAt(row);
        if (isShown)
            endRemoveRows();
    }
}

int ConversationListModel::rowOf(qint64 id) const
{
    return findId(shown(), id);
}

QString ConversationListModel::titleOf(qint64 id) const
{
    const int row = findId(m_all, id);
    return row < 0 ? QString() : m_all.at(row).title;
}

int ConversationListModel::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(shown().size());
}

QVariant ConversationListModel::data(const QModelIndex &index, int role) const
{
    const ConversationSummary &conversation = shown().at(index.row());
    switch (role) {
    case IdRole:
        return conversation.id;
    case Qt::DisplayRole:
    case Qt::EditRole:
    case TitleRole:
        return conversation.title;
    case UpdatedRole:
        return conversation.updated;
    case DetailRole:
        if (!conversation.snippet.isEmpty())
            return conversation.snippet;
        return tr("%1, %2").arg(shortTime(conversation.updated, QDateTime::currentDateTime()),
                                conversation.messageCount == 1
                                    ? tr("1 message")
                                    : tr("%1 messages").arg(conversation.messageCount));
    case Qt::ToolTipRole:
        return conversation.title;
    case Qt::AccessibleDescriptionRole:
        return data(index, DetailRole);
    default:
        return {};
    }
}

} // namespace models
