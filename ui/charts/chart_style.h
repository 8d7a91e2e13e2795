#pragma once

#include <QString>

#include <vector>

namespace ui {
enum class SeriesKind { Line, Area, Step, Bars };

/// The dash says which percentile a line is (p50 solid, p95 6 3, p99 2 2); elsewhere it keeps lines apart
/// without colour.
enum class SeriesDash { Solid, Long, Dots, DashDot };

struct SeriesStyle
{
    QString colorName; ///< as in tokens.json: "chart.1"
    SeriesKind kind = SeriesKind::Line;
    SeriesDash dash = SeriesDash::Solid;
};

/// Lengths in pixels, on and off in turn; empty for solid.
inline std::vector<double> dashPixels(SeriesDash dash)
{
    switch (dash) {
    case SeriesDash::Solid:
        return {};
    case SeriesDash::Long:
        return {6, 3};
    case SeriesDash::Dots:
        return {2, 2};
    case SeriesDash::DashDot:
        return {8, 3, 2, 3};
    }
    return {};
}
} // namespace ui
