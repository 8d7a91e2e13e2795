#include "cluster/observe/counter.h"

#include <algorithm>
#include <cmath>

namespace cluster {

namespace {

bool beganAgain(const CounterPart &before, const CounterPart &after)
{
    if (after.value < before.value)
        return true;
    return before.created && after.created && *after.created > *before.created + createdToleranceSeconds;
}

} // namespace

double CounterReading::total() const
{
    double sum = 0;
    for (const CounterPart &part : parts)
        sum += part.value;
    return sum;
}

std::optional<CounterIncrease> increase(const CounterReading &before, const CounterReading &after,
                                        std::optional<double> beforeTime)
{
    CounterIncrease result;
    bool isKnown = false;
    for (const CounterPart &part : after.parts) {
        if (!std::isfinite(part.value))
            continue;
        const auto old = std::find_if(before.parts.begin(), before.parts.end(),
                                      [&part](const CounterPart &one) { return one.series == part.series; });
        if (old == before.parts.end()) {
            if (beforeTime && part.created && *part.created >= *beforeTime) {
                result.amount += part.value;
                isKnown = true;
            }
            continue;
        }
        if (!std::isfinite(old->value))
            continue;
        isKnown = true;
        const bool isReset = beganAgain(*old, part);
        result.wasReset = result.wasReset || isReset;
        result.amount += isReset ? part.value : part.value - old->value;
    }
    if (!isKnown)
        return std::nullopt;
    return result;
}

std::optional<double> rate(const CounterReading &before, const CounterReading &after, double seconds)
{
    const auto grown = increase(before, after);
    if (!grown || seconds <= 0)
        return std::nullopt;
    return grown->amount / seconds;
}

} // namespace cluster
