#include "models/metrics/event_log.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

#include <algorithm>

namespace models {
namespace {
constexpr qint64 largestFile = 512 * 1024; // Some 5,000 events; then the older half goes
const QLatin1String endpointKey("endpoint");
const QLatin1String timeKey("time");
const QLatin1String textKey("text");
const QLatin1String lossKey("loss");

void dropOlderHalf(QFile &file)
{
    if (!file.open(QIODevice::ReadOnly))
        return;
    const QByteArray all = file.readAll();
    file.close();
    const qsizetype cut = all.indexOf('\n', all.size() / 2);
    if (cut >= 0 && file.open(QIODevice::WriteOnly))
        file.write(all.mid(cut + 1));
    file.close();
}
} // namespace

std::vector<ChartEvent> EventLog::read(const QString &endpoint) const
{
    std::vector<ChartEvent> events;
    QFile file(m_path);
    if (!file.open(QIODevice::ReadOnly))
        return events;
    while (!file.atEnd()) {
        const QJsonObject line = QJsonDocument::fromJson(file.readLine()).object();
        if (line.value(endpointKey).toString() != endpoint || !line.value(timeKey).isDouble())
            continue;
        events.push_back({line.value(timeKey).toDouble(), line.value(textKey).toString(),
                          line.value(lossKey).toBool() ? ChartEvent::Kind::Loss : ChartEvent::Kind::Change});
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const ChartEvent &a, const ChartEvent &b) { return a.time < b.time; });
    return events;
}

bool EventLog::append(const QString &endpoint, const ChartEvent &event) const
{
    QFile file(m_path);
    if (file.size() > largestFile)
        dropOlderHalf(file);
    const QByteArray line = QJsonDocument(QJsonObject{{endpointKey, endpoint},
                                                      {timeKey, event.time},
                                                      {textKey, event.text},
                                                      {lossKey, event.kind == ChartEvent::Kind::Loss}})
                                .toJson(QJsonDocument::Compact)
        + '\n';
    return file.open(QIODevice::WriteOnly | QIODevice::Append) && file.write(line) == line.size();
}
} // namespace models
