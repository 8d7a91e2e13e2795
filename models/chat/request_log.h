#pragma once

#include <QAbstractTableModel>
#include <QByteArray>
#include <QVector>

namespace models {

/// The last request and the bytes of its answer, for the inspector: one row an SSE event, with its time.
///
/// Bounded: of an event the first 64 KB are kept, of a stream the newest 5,000 events; both are said, not
/// hidden.
class RequestLog : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { TimeColumn, SizeColumn, DataColumn, ColumnCount };
    static constexpr int maxEvents = 5000;
    static constexpr int maxEventBytes = 64 * 1024;

    explicit RequestLog(QObject *parent = nullptr);

    void begin(const QString &request); ///< A new request: forgets the one before.
    void add(const QByteArray &raw, qint64 milliseconds);
    void end(const QString &outcome); ///< "200, finished", or what went wrong.

    [[nodiscard]] const QString &request() const { return m_request; }
    [[nodiscard]] const QString &outcome() const { return m_outcome; }
    [[nodiscard]] qint64 droppedEvents() const { return m_dropped; }
    [[nodiscard]] QString eventText(int row) const; ///< As it came, up to its limit.
    [[nodiscard]] QString allText() const; ///< Request and events, to be copied.

    int rowCount(const QModelIndex &parent = {}) const override;
    int columnCount(const QModelIndex &parent = {}) const override;
    QVariant data(const QModelIndex &index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

signals:
    void requestChanged();

private:
    struct Event
    {
        qint64 milliseconds = 0;
        qint64 size = 0;
        QByteArray data;
    };
    void close(qint64 milliseconds, QVector<Event> &into);

    QString m_request;
    QString m_outcome;
    QVector<Event> m_events;
    QByteArray m_open; // Bytes of the event whose blank line has not come.
    qint64 m_openSize = 0;
    qint64 m_dropped = 0;
    qint64 m_lastTime = 0;
};

} // namespace models
