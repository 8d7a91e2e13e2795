#include "models/chat/request_log.h"

namespace models {

RequestLog::RequestLog(QObject *parent) : QAbstractTableModel(parent) {}

void RequestLog::begin(const QString &request)
{
    beginResetModel();
    m_request = request;
    m_outcome.clear();
    m_events.clear();
    m_open.clear();
    m_openSize = 0;
    m_dropped = 0;
    m_lastTime = 0;
    endResetModel();
    emit requestChanged();
}

void RequestLog::close(qint64 milliseconds, QVector<Event> &into)
{
    const QByteArray text = m_open.trimmed();
    if (!text.isEmpty())
        into.append({milliseconds, m_openSize, text});
    m_open.clear();
    m_openSize = 0;
}

void RequestLog::add(const QByteArray &raw, qint64 milliseconds)
{
    // Shown as it came, so only blank lines are looked for here; the meaning is the client's affair.
    m_lastTime = milliseconds;
    QVector<Event> fresh;
    qsizetype from = 0;
    while (from < raw.size()) {
        qsizetype lineEnd = raw.indexOf('\n', from);
        const bool isWhole = lineEnd >= 0;
        lineEnd = isWhole ? lineEnd + 1 : raw.size();
        const qsizetype size = lineEnd - from;
        m_openSize += size;
        if (m_open.size() < maxEventBytes)
            m_open.append(raw.constData() + from, std::min<qsizetype>(size, maxEventBytes - m_open.size()));
        const bool isBlank = m_open.endsWith("\n\n") || m_open.endsWith("\n\r\n") || m_open.endsWith("\r\r");
        const bool isCutBlank = m_open.size() >= maxEventBytes && size <= 2 && isWhole;
        if (isBlank || isCutBlank)
            close(milliseconds, fresh);
        from = lineEnd;
    }
    if (fresh.isEmpty())
        return;
    if (const qsizetype tooMany = m_events.size() + fresh.size() - maxEvents; tooMany > 0) {
        const qsizetype fromOld = std::min(tooMany, m_events.size());
        if (fromOld > 0) {
            beginRemoveRows({}, 0, static_cast<int>(fromOld - 1));
            m_events.remove(0, fromOld);
            endRemoveRows();
        }
        fresh.remove(0, tooMany - fromOld);
        m_dropped += tooMany;
    }
    const int first = static_cast<int>(m_events.size());
    beginInsertRows({}, first, first + static_cast<int>(fresh.size()) - 1);
    m_events += fresh;
    endInsertRows();
}

void RequestLog::end(const QString &outcome)
{
    QVector<Event> rest;
    close(m_lastTime, rest);
    if (!rest.isEmpty()) {
        const int row = static_cast<int>(m_events.size());
        beginInsertRows({}, row, row);
        m_events += rest;
        endInsertRows();
    }
    m_outcome = outcome;
    emit requestChanged();
}

QString RequestLog::eventText(int row) const
{
    const Event &event = m_events.at(row);
    QString text = QString::fromUtf8(event.data);
    if (event.size > maxEventBytes)
        text += QLatin1Char('\n') + tr("(the first %1 of %2 bytes)").arg(maxEventBytes).arg(event.size);
    return text;
}

QString RequestLog::allText() const
{
    QString text = m_request + QStringLiteral("\n\n");
    if (m_dropped > 0)
        text += tr("(%1 earlier events are not kept)").arg(m_dropped) + QLatin1Char('\n');
    for (int row = 0; row < m_events.size(); ++row)
        text += tr("# after %1 ms").arg(m_events[row].milliseconds) + QLatin1Char('\n') + eventText(row)
            + QStringLiteral("\n\n");
    return text + m_outcome;
}

int RequestLog::rowCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_events.size());
}

int RequestLog::columnCount(const QModelIndex &parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RequestLog::data(const QModelIndex &index, int role) const
{
    const Event &event = m_events.at(index.row());
    if (role == Qt::TextAlignmentRole && index.column() != DataColumn)
        return QVariant(Qt::AlignRight | Qt::AlignAbsolute | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (index.column()) {
    case TimeColumn:
        return tr("%1 ms").arg(event.milliseconds);
    case SizeColumn:
        return event.size;
    case DataColumn:
        return QString::fromUtf8(event.data.left(300)).simplified();
    default:
        return {};
    }
}

QVariant RequestLog::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (role != Qt::DisplayRole || orientation != Qt::Horizontal)
        return {};
    switch (section) {
    case TimeColumn:
        return tr("Time");
    case SizeColumn:
        return tr("Bytes");
    case DataColumn:
        return tr("Event");
    default:
        return {};
    }
}

} // namespace models
