#include "ui/charts/nice_axis.h"

#include <array>
#include <cmath>

namespace ui {
namespace {
constexpr double headroom = 1.04;

bool isWhole(double value)
{
    return std::abs(value - std::round(value)) < 1e-9;
}
} // namespace

NiceAxis niceAxis(models::ChartUnit unit, double greatest)
{
    if (unit == models::ChartUnit::Ratio && !(greatest > 1))
        return {1, 0.25};
    if (!std::isfinite(greatest) || greatest <= 0)
        return {4, 1};
    const double needed = greatest * headroom;
    const double power = std::pow(10, std::floor(std::log10(needed)) - 1);
    NiceAxis best{0, 0};
    for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0, 20.0, 25.0, 50.0}) {
        const double step = factor * power;
        if (unit == models::ChartUnit::Count && (step < 1 || !isWhole(step)))
            continue;
        for (int steps = 3; steps <= 5; ++steps) {
            const double maximum = step * steps;
            if (maximum >= needed && (best.maximum == 0 || maximum < best.maximum))
                best = {maximum, step};
        }
    }
    return best.maximum > 0 ? best : NiceAxis{4, 1}; // counts below one
}

NiceAxis nextAxis(models::ChartUnit unit, const NiceAxis &current, double greatest)
{
    const NiceAxis wanted = niceAxis(unit, greatest);
    if (!std::isfinite(greatest))
        return current;
    const bool doesFit = greatest <= current.maximum;
    return doesFit && wanted.maximum > current.maximum / 2 ? current : wanted;
}

TimeTicks timeTicks(const models::TimeWindow &window, int atMost, double utcOffset)
{
    constexpr std::array<double, 22> steps
        = {1,    2,    5,    10,    15,    30,    60,    120,    300,    600,    900,
           1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600};
    TimeTicks ticks;
    if (!(window.length() > 0) || atMost < 1)
        return ticks;
    ticks.step = steps.back();
    for (const double step : steps) {
        if (window.length() / step <= atMost) {
            ticks.step = step;
            break;
        }
    }
    const double first = std::ceil((window.from + utcOffset) / ticks.step) * ticks.step - utcOffset;
    for (double time = first; time <= window.to && static_cast<int>(ticks.times.size()) < atMost;
         time += ticks.step)
        ticks.times.push_back(time);
    return ticks;
}
} // namespace ui
