#include "models/metrics/value_format.h"

#include <QLocale>

#include <algorithm>
#include <cmath>

namespace models {
namespace {
// Axes that end below this many seconds are read in milliseconds.
constexpr double millisecondAxis = 2.0;

QString grouped(double value, int digits)
{
    return QLocale(QLocale::English).toString(value, 'f', digits);
}

QString plain(double value, int digits)
{
    return QString::number(value, 'f', digits);
}

int digitsFor(double value)
{
    const double size = std::abs(value);
    return size == 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
}

QString secondsText(double value)
{
    if (value < 1)
        return plain(value * 1000, value * 1000 < 100 ? 1 : 0) + QStringLiteral(" ms");
    if (value < 100)
        return plain(value, value < 10 ? 2 : 1) + QStringLiteral(" s");
    return grouped(value, 0) + QStringLiteral(" s");
}

// Digits after the point so that ticks `step` apart differ; 2.5 needs one, 0.25 two.
int digitsOfStep(double step)
{
    for (int digits = 0; digits < 6; ++digits) {
        const double scaled = step * std::pow(10, digits);
        if (std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, scaled))
            return digits;
    }
    return 6;
}
} // namespace

QString valueText(ChartUnit unit, double value)
{
    if (std::isnan(value))
        return QStringLiteral("–");
    switch (unit) {
    case ChartUnit::Ratio:
        return plain(value * 100, value > 0 && value < 0.1 ? 1 : 0) + u'%';
    case ChartUnit::Seconds:
        return secondsText(value);
    case ChartUnit::Count:
        return grouped(value, std::abs(value - std::round(value)) < 0.05 ? 0 : 1);
    case ChartUnit::PerSecond:
    case ChartUnit::PerMinute:
    case ChartUnit::Tokens:
        return grouped(value, std::abs(value - std::round(value)) < 0.005 ? 0 : digitsFor(value));
    }
    return {};
}

QString tickText(ChartUnit unit, double value, double step, double axisMaximum)
{
    switch (unit) {
    case ChartUnit::Ratio:
        return plain(value * 100, digitsOfStep(step * 100)) + u'%';
    case ChartUnit::Seconds:
        if (axisMaximum < millisecondAxis)
            return plain(value * 1000, digitsOfStep(step * 1000));
        return plain(value, digitsOfStep(step)) + QStringLiteral(" s");
    default:
        break;
    }
    if (value != 0 && axisMaximum >= 1e6)
        return plain(value / 1e6, digitsOfStep(step / 1e6)) + u'M';
    if (value != 0 && axisMaximum >= 2000)
        return plain(value / 1000, digitsOfStep(step / 1000)) + u'k';
    return plain(value, digitsOfStep(step));
}

QString axisUnitText(ChartUnit unit, double axisMaximum)
{
    return unit == ChartUnit::Seconds && axisMaximum < millisecondAxis ? QStringLiteral("ms") : QString();
}

QString ageText(double seconds)
{
    const double age = std::max(0.0, seconds);
    if (age < 60)
        return plain(std::floor(age), 0) + QStringLiteral(" s");
    if (age < 3600)
        return plain(std::floor(age / 60), 0) + QStringLiteral(" min");
    if (age < 2 * 86400)
        return plain(std::floor(age / 3600), 0) + QStringLiteral(" h");
    return plain(std::floor(age / 86400), 0) + QStringLiteral(" d");
}

QString stepText(double seconds)
{
    if (seconds < 60)
        return plain(seconds, digitsOfStep(seconds)) + QStringLiteral(" s");
    if (seconds < 3600)
        return plain(seconds / 60, digitsOfStep(seconds / 60)) + QStringLiteral(" min");
    return plain(seconds / 3600, digitsOfStep(seconds / 3600)) + QStringLiteral(" h");
}
} // namespace models
