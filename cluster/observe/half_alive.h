#pragma once

#include "cluster/observe/serving_metrics.h"
#include <chrono>
#include <optional>
#include <string>

namespace cluster {

enum class Liveness {
    Unknown, ///< Too few scrapes, or the page lacks the counters.
    Idle, ///< Nothing to do.
    Working, ///< Tokens move.
    HalfAlive, ///< Has requests, but no token came for too long: answers /health, serves nobody.
};

struct HalfAliveOptions
{
    int scrapes = 3; ///< So many scrapes in a row without progress.
    std::chrono::milliseconds duration{15000}; ///< And at least so long: a long prefill is not a death.
};

/// Finds a server whose workers died while its front goes on (health says 200, nothing is generated).
class HalfAliveRule
{
public:
    explicit HalfAliveRule(HalfAliveOptions options = {});

    Liveness observe(const ServingSample &sample);
    void scrapeFailed(); ///< Does not count as a scrape without progress.
    [[nodiscard]] Liveness liveness() const { return m_liveness; }
    [[nodiscard]] std::string explanation() const; ///< One line for a person; empty unless HalfAlive.

private:
    HalfAliveOptions m_options;
    Liveness m_liveness = Liveness::Unknown;
    std::optional<double> m_progress; ///< Sum of all counters that move with work.
    SampleTime m_frozenSince{};
    SampleTime m_last{};
    int m_frozenScrapes = 0;
    double m_pending = 0;
};

} // namespace cluster
