#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cluster {

/// `_created` is written with all its digits, but a proxy may round it; a restart takes longer than this.
constexpr double createdToleranceSeconds = 0.001;

/// One series of a counter.
struct CounterPart
{
    std::string series; ///< Labels as text; tells engines and replicas apart.
    double value = 0;
    std::optional<double>
        created; ///< Unix seconds at which it began at 0 (`_created`), if the server says so.
};

/// A counter as read from one scrape, summed over its series only when asked: resets have to be seen a series
/// at a time.
struct CounterReading
{
    std::vector<CounterPart> parts;

    [[nodiscard]] double total() const;
};

struct CounterIncrease
{
    double amount = 0; ///< >= 0
    bool wasReset = false; ///< At least one series started again in between.
};

/// What a counter grew by between two scrapes.
///
/// A series that fell, or whose `created` moved, began again at 0: all of its new value is increase. A series
/// that is new counts only if its `created` lies after `beforeTime`: otherwise its past would come as one
/// spike. Nothing, if there is no series in common and none known to be new.
[[nodiscard]] std::optional<CounterIncrease> increase(const CounterReading &before,
                                                      const CounterReading &after,
                                                      std::optional<double> beforeTime = std::nullopt);

/// The increase divided by the time, in units a second. Nothing for a time <= 0 or without an increase.
[[nodiscard]] std::optional<double> rate(const CounterReading &before, const CounterReading &after,
                                         double seconds);

} // namespace cluster
