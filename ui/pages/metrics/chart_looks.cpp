#include "ui/pages/metrics/chart_looks.h"

#include <QHash>

namespace ui {
std::vector<SeriesStyle> chartLook(const QString &chartId, std::size_t seriesCount)
{
    const QString blue = QStringLiteral("chart.1");
    const QString amber = QStringLiteral("chart.2");
    const QString green = QStringLiteral("chart.3");
    const std::vector<SeriesStyle> percentiles{{blue, SeriesKind::Line, SeriesDash::Solid},
                                               {blue, SeriesKind::Line, SeriesDash::Long},
                                               {blue, SeriesKind::Line, SeriesDash::Dots}};
    const QHash<QString, std::vector<SeriesStyle>> looks{
        {QStringLiteral("requests"), {{blue}, {amber, SeriesKind::Line, SeriesDash::Long}}},
        {QStringLiteral("kv"), {{green, SeriesKind::Area}}},
        {QStringLiteral("tokens"), {{blue, SeriesKind::Area}, {amber, SeriesKind::Line, SeriesDash::Long}}},
        {QStringLiteral("ttft"), percentiles},
        {QStringLiteral("tpot"), percentiles},
        {QStringLiteral("e2e"), percentiles},
        {QStringLiteral("queue"), {{blue, SeriesKind::Line, SeriesDash::Long}}},
        {QStringLiteral("prefix"), {{green, SeriesKind::Line}}},
        {QStringLiteral("errors"), {{amber, SeriesKind::Bars}, {QStringLiteral("err"), SeriesKind::Bars}}},
    };
    std::vector<SeriesStyle> look = looks.value(chartId);
    while (look.size() < seriesCount)
        look.push_back({QStringLiteral("chart.%1").arg(look.size() % 6 + 1)});
    return look;
}
} // namespace ui
