#pragma once

#include "models/metrics/chart_data.h"

#include <vector>

namespace models {
/// The samples of one series at the step that a chart shows: what falls into one step is its mean, at the
/// mean of its times. A step with nothing but gaps is a gap.
class SeriesBuffer
{
public:
    /// `step` in seconds, > 0; steps lie on multiples of it since the epoch.
    explicit SeriesBuffer(double step = 1) : m_step(step) {}

    /// In ascending time; a sample of an earlier step than the newest is ignored (a clock that was set back).
    /// `weight`: how many scrapes it stands for. NaN is a gap.
    void append(const Sample &sample, double weight = 1);
    /// Forgets what is older than `time`, but for the last sample before it: lines start at the window's
    /// edge.
    void forgetBefore(double time);
    void clear();

    [[nodiscard]] const std::vector<Sample> &samples() const { return m_samples; }

private:
    double m_step;
    double m_weight = 0; // Of the newest sample
    std::vector<Sample> m_samples;
};

/// The step at which a range is shown, in seconds: a round number, some 360 of them in the range, never below
/// `interval`.
double stepForRange(double range, double interval);
} // namespace models
