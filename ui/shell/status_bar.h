#pragma once

#include "ui/widgets/state.h"

#include <QStatusBar>
#include <chrono>
#include <optional>

class QLabel;

namespace ui {

class StateLabel;
class Theme;

/// Connection, delay of the API, age of the metrics, what the page says; the version at the end.
class StatusBar : public QStatusBar
{
    Q_OBJECT

public:
    StatusBar(const Theme &theme, const QString &version, QWidget *parent = nullptr);

    void setConnection(State state, const QString &text, const QString &detail);
    void setApiDelay(std::optional<std::chrono::milliseconds> delay);
    /// Negative: no metrics yet. Older than 15 s is marked as stale.
    void setMetricsAge(int seconds);
    void setPageText(const QString &text);

private:
    QLabel *addSegment(const QString &name);

    StateLabel *m_connection;
    QLabel *m_delay;
    StateLabel *m_metrics;
    QLabel *m_page;
};

} // namespace ui
