#pragma once

#include <QObject>
#include <QTimer>
#include <atomic>
#include <chrono>
#include <thread>

namespace app {

/// Watches how long the GUI thread stays away from its event loop (SLIPWAY_STALL_REPORT=1): a second thread
/// looks at a beat that the loop keeps. At the end one line of JSON on standard error names the longest
/// stall; each stall over the limit is told when it is over.
class StallWatch : public QObject
{
    Q_OBJECT

public:
    explicit StallWatch(std::chrono::milliseconds limit = std::chrono::milliseconds(50),
                        QObject *parent = nullptr);
    ~StallWatch() override;

    [[nodiscard]] std::chrono::milliseconds longest() const
    {
        return std::chrono::milliseconds(m_longest.load());
    }

private:
    void watch(const std::stop_token &stop);

    std::chrono::milliseconds m_limit;
    std::atomic<qint64> m_lastBeat; // milliseconds of the steady clock, written by the GUI thread
    std::atomic<qint64> m_longest = 0;
    QTimer m_beat;
    std::jthread m_thread;
};

} // namespace app
