#include "models/metrics/series_buffer.h"

#include <algorithm>
#include <cmath>

namespace models {
void SeriesBuffer::append(const Sample &sample, double weight)
{
    const auto slot = [this](double time) { return std::floor(time / m_step); };
    if (m_samples.empty() || slot(sample.time) > slot(m_samples.back().time)) {
        m_samples.push_back(sample);
        m_weight = weight;
        return;
    }
    Sample &last = m_samples.back();
    if (slot(sample.time) < slot(last.time) || std::isnan(sample.value))
        return;
    if (std::isnan(last.value)) {
        last = sample;
        m_weight = weight;
        return;
    }
    // fmin and fmax leave NaN out: a single scrape is its own least and greatest.
    last.low = std::fmin(std::fmin(last.low, last.value), std::fmin(sample.low, sample.value));
    last.high = std::fmax(std::fmax(last.high, last.value), std::fmax(sample.high, sample.value));
    const double sum = m_weight + weight;
    last.value += (sample.value - last.value) * weight / sum;
    last.time += (sample.time - last.time) * weight / sum;
    m_weight = sum;
}

void SeriesBuffer::forgetBefore(double time)
{
    const auto first = std::lower_bound(m_samples.begin(), m_samples.end(), time,
                                        [](const Sample &sample, double at) { return sample.time < at; });
    if (first - m_samples.begin() > 1)
        m_samples.erase(m_samples.begin(), first - 1);
}

void SeriesBuffer::clear()
{
    m_samples.clear();
    m_weight = 0;
}

double stepForRange(double range, double interval)
{
    constexpr double samplesWanted = 360;
    for (const double step : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0}) {
        if (step >= interval && step * samplesWanted >= range * 0.99)
            return step;
    }
    return std::max(interval, 7200.0);
}
} // namespace models
