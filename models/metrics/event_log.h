#pragma once

#include "models/metrics/chart_data.h"

#include <QString>

#include <vector>

namespace models {
/// The events of the charts ("server restarted") on disk, beside the history: one JSON object a line, so that
/// an event is one write and a line that was cut by a crash costs nothing but itself. The calls block.
class EventLog
{
public:
    explicit EventLog(QString path) : m_path(std::move(path)) {}

    /// Those of `endpoint`, in ascending time. A missing file has none.
    [[nodiscard]] std::vector<ChartEvent> read(const QString &endpoint) const;
    /// False: it could not be written; the charts of this run have the event all the same.
    bool append(const QString &endpoint, const ChartEvent &event) const;

private:
    QString m_path;
};
} // namespace models
