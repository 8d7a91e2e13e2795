#pragma once

#include "cluster/local/runtimes/ray/serve_apps.h"

#include <deque>
#include <optional>

namespace cluster::local {

/// Serve's default policy for one deployment: the mean number of requests in hand over the look-back period,
/// divided by the target, must ask for another count for the whole delay before it is followed.
class ServeAutoscaler
{
public:
    explicit ServeAutoscaler(ServeAutoscaling rules) : m_rules(rules) {}

    /// Called in each control loop. \param ongoing  Requests in hand of all its replicas and waiting for one.
    /// Returns the new count of replicas, when it is time for another one.
    std::optional<int> step(RayClock::time_point now, double ongoing, int replicas);

    void setRules(ServeAutoscaling rules) { m_rules = rules; }
    [[nodiscard]] const ServeAutoscaling &rules() const { return m_rules; }
    [[nodiscard]] double meanOngoing() const { return m_mean; }
    [[nodiscard]] int desired() const { return m_desired; }
    /// The count that a deployment begins with.
    [[nodiscard]] int firstCount() const;

private:
    struct Sample
    {
        RayClock::time_point at;
        double ongoing;
    };
    ServeAutoscaling m_rules;
    std::deque<Sample> m_samples;
    double m_mean = 0;
    int m_desired = 1;
    std::optional<RayClock::time_point> m_upSince, m_downSince;
};

} // namespace cluster::local
