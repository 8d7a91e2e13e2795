#include "app/slipway/stall_watch.h"

#include <cstdio>

namespace app {

namespace {

constexpr auto Beat = std::chrono::milliseconds(5);

qint64 nowMs()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace

StallWatch::StallWatch(std::chrono::milliseconds limit, QObject *parent)
    : QObject(parent), m_limit(limit), m_lastBeat(nowMs())
{
    m_beat.setTimerType(Qt::PreciseTimer);
    connect(&m_beat, &QTimer::timeout, this, [this] { m_lastBeat = nowMs(); });
    m_beat.start(Beat);
    m_thread = std::jthread([this](const std::stop_token &stop) { watch(stop); });
}

StallWatch::~StallWatch()
{
    m_thread.request_stop();
    m_thread.join();
    std::fprintf(stderr, "{\"longest_stall_ms\": %lld}\n", static_cast<long long>(m_longest.load()));
}

void StallWatch::watch(const std::stop_token &stop)
{
    qint64 stalled = 0; // of the stall that goes on now
    while (!stop.stop_requested()) {
        std::this_thread::sleep_for(Beat);
        const qint64 away = nowMs() - m_lastBeat - Beat.count();
        if (away > m_longest)
            m_longest = away;
        if (away > m_limit.count()) {
            stalled = away;
        } else if (stalled > 0) {
            std::fprintf(stderr, "stall: the GUI thread was busy for about %lld ms\n",
                         static_cast<long long>(stalled));
            stalled = 0;
        }
    }
}

} // namespace app
