#include "cluster/observe/half_alive.h"

#include <cmath>

namespace cluster {

namespace {

/// Everything that moves when the engine works. A long prefill moves no token counter, but it does move the
/// steps.
std::optional<double> progressOf(const ServingSample &sample)
{
    if (!sample.outputTokens && !sample.steps)
        return std::nullopt;
    double progress = 0;
    for (const auto *counter : {&sample.outputTokens, &sample.promptTokens, &sample.steps}) {
        if (*counter)
            progress += (*counter)->total();
    }
    return progress;
}

} // namespace

HalfAliveRule::HalfAliveRule(HalfAliveOptions options) : m_options(options) {}

Liveness HalfAliveRule::observe(const ServingSample &sample)
{
    const auto progress = progressOf(sample);
    m_pending = sample.running.value_or(0) + sample.waiting.value_or(0);
    const bool hasMoved = !m_progress || !progress || *progress != *m_progress;
    const bool wasKnown = m_progress.has_value();
    m_progress = progress;
    m_last = sample.time;
    if (!progress || (!sample.running && !sample.waiting)) {
        m_frozenScrapes = 0;
        return m_liveness = Liveness::Unknown;
    }
    if (hasMoved || m_pending <= 0) {
        m_frozenScrapes = 0;
        m_frozenSince = sample.time;
        if (m_pending <= 0)
            return m_liveness = Liveness::Idle;
        return m_liveness = wasKnown ? Liveness::Working : Liveness::Unknown;
    }
    ++m_frozenScrapes;
    if (m_frozenScrapes >= m_options.scrapes && sample.time - m_frozenSince >= m_options.duration)
        m_liveness = Liveness::HalfAlive;
    return m_liveness;
}

void HalfAliveRule::scrapeFailed()
{
    m_liveness = Liveness::Unknown;
}

std::string HalfAliveRule::explanation() const
{
    if (m_liveness != Liveness::HalfAlive)
        return {};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(m_last - m_frozenSince).count();
    return "half alive: " + std::to_string(std::llround(m_pending))
        + " requests are running or waiting, but no token came for " + std::to_string(seconds) + " s ("
        + std::to_string(m_frozenScrapes)
        + " scrapes); the server still answers, so look for a dead worker in its log";
}

} // namespace cluster
