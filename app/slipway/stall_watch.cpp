#include "app/slipway/stall_watch.h"

#include <cstdio>
#include <ctime>

namespace app {

namespace {

constexpr auto Beat = std::chrono::milliseconds(5);

double milliseconds(clockid_t clock)
{
    timespec time{};
    ::clock_gettime(clock, &time);
    return double(time.tv_sec) * 1000.0 + double(time.tv_nsec) / 1e6;
}

} // namespace

StallWatch::StallWatch(std::chrono::milliseconds limit, QObject *parent) : QObject(parent), m_limit(limit)
{
    m_timer.setTimerType(Qt::PreciseTimer);
    connect(&m_timer, &QTimer::timeout, this, &StallWatch::beat);
    m_timer.start(Beat);
}

StallWatch::~StallWatch()
{
    std::fprintf(stderr, "{\"longest_stall_ms\": %.0f, \"longest_stall_cpu_ms\": %.0f}\n", m_longestWall,
                 m_longestCpu);
}

void StallWatch::beat()
{
    const double wall = milliseconds(CLOCK_MONOTONIC);
    const double cpu = milliseconds(CLOCK_THREAD_CPUTIME_ID);
    if (m_lastWall >= 0) {
        const double away = wall - m_lastWall - double(Beat.count());
        m_longestWall = qMax(m_longestWall, away);
        m_longestCpu = qMax(m_longestCpu, cpu - m_lastCpu);
        if (away > double(m_limit.count()))
            std::fprintf(stderr, "stall: %.0f ms, of which the GUI thread computed %.0f ms\n", away,
                         cpu - m_lastCpu);
    }
    m_lastWall = wall;
    m_lastCpu = cpu;
}

} // namespace app
