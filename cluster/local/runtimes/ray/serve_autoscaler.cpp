#include "cluster/local/runtimes/ray/serve_autoscaler.h"

#include <algorithm>
#include <cmath>

namespace cluster::local {

namespace {

RayClock::duration secondsOf(double seconds)
{
    return std::chrono::duration_cast<RayClock::duration>(std::chrono::duration<double>(seconds));
}

} // namespace

int ServeAutoscaler::firstCount() const
{
    return std::clamp(m_rules.initialReplicas.value_or(m_rules.minReplicas), m_rules.minReplicas,
                      m_rules.maxReplicas);
}

std::optional<int> ServeAutoscaler::step(RayClock::time_point now, double ongoing, int replicas)
{
    m_samples.push_back({now, ongoing});
    while (m_samples.front().at < now - secondsOf(m_rules.lookBackSeconds))
        m_samples.pop_front();
    double sum = 0;
    for (const Sample &sample : m_samples)
        sum += sample.ongoing;
    m_mean = sum / static_cast<double>(m_samples.size());
    const double wanted = std::ceil(m_mean / m_rules.targetOngoing - 1e-9);
    m_desired = static_cast<int>(
        std::clamp(wanted, double(m_rules.minReplicas), double(std::max(1, m_rules.maxReplicas))));
    m_upSince = m_desired > replicas ? std::optional(m_upSince.value_or(now)) : std::nullopt;
    m_downSince = m_desired < replicas ? std::optional(m_downSince.value_or(now)) : std::nullopt;
    const bool isUp = m_upSince && now - *m_upSince >= secondsOf(m_rules.upscaleDelaySeconds);
    const bool isDown = m_downSince && now - *m_downSince >= secondsOf(m_rules.downscaleDelaySeconds);
    if (!isUp && !isDown)
        return std::nullopt;
    m_upSince = m_downSince = std::nullopt;
    return m_desired;
}

} // namespace cluster::local
