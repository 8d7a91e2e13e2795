#pragma once

#include <QObject>
#include <QTimer>
#include <chrono>

namespace app {

/// Measures how long the GUI thread stays away from its event loop (SLIPWAY_STALL_REPORT=1), from the loop's
/// first turn on: a beat every 5 ms that comes late says by how much. Each stall over the limit is told at
/// once, and at the end one line of JSON on standard error names the longest. Wall time on a busy machine
/// also counts what other programs took; the thread's own CPU time does not, so both are told.
class StallWatch : public QObject
{
    Q_OBJECT

public:
    explicit StallWatch(std::chrono::milliseconds limit = std::chrono::milliseconds(50),
                        QObject *parent = nullptr);
    ~StallWatch() override;

private:
    void beat();

    std::chrono::milliseconds m_limit;
    QTimer m_timer;
    double m_lastWall = -1; // milliseconds; negative before the first beat
    double m_lastCpu = 0;
    double m_longestWall = 0;
    double m_longestCpu = 0;
};

} // namespace app
