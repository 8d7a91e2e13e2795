// Prints what an update of the charts costs, in CPU milliseconds of this process. Nothing is asserted: the
// numbers are for reading, and for comparing two builds on one machine.
#include "ui/charts/chart_group.h"
#include "ui/charts/metric_chart.h"
#include "ui/charts/plot_area.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QGridLayout>
#include <QPixmap>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>

namespace {
double cpuMilliseconds()
{
    timespec at{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) * 1000 + static_cast<double>(at.tv_nsec) / 1e6;
}

double medianCost(int repeats, const std::function<void(int)> &work)
{
    std::vector<double> costs;
    for (int i = 0; i < repeats; ++i) {
        const double before = cpuMilliseconds();
        work(i);
        QApplication::sendPostedEvents();
        QApplication::processEvents();
        costs.push_back(cpuMilliseconds() - before);
    }
    std::sort(costs.begin(), costs.end());
    return costs[costs.size() / 2];
}

models::ChartData waves(int series, int points, double end, double step)
{
    models::ChartData data;
    data.unit = models::ChartUnit::Tokens;
    for (int i = 0; i < series; ++i) {
        models::SeriesData one;
        one.name = QStringLiteral("s%1").arg(i);
        for (int k = 0; k < points; ++k) {
            const double time = end - (points - 1 - k) * step;
            one.samples.push_back(
                {time, 100 + 40 * std::sin(time / 300 + i) + 5 * std::sin(time * 12.9898 + i)});
        }
        one.latest = one.samples.back().value;
        data.series.push_back(std::move(one));
    }
    return data;
}

std::vector<ui::SeriesStyle> looks(int series)
{
    std::vector<ui::SeriesStyle> styles;
    for (int i = 0; i < series; ++i)
        styles.push_back({QStringLiteral("chart.%1").arg(i % 6 + 1), ui::SeriesKind::Line,
                          static_cast<ui::SeriesDash>(i % 3)});
    return styles;
}

void measure(const char *name, int charts, int series, int points, QSize size)
{
    const ui::Theme theme;
    ui::ChartGroup group;
    QWidget page;
    auto *grid = new QGridLayout(&page);
    std::vector<ui::MetricChart *> all;
    for (int i = 0; i < charts; ++i) {
        all.push_back(
            new ui::MetricChart(theme, group, QStringLiteral("Chart %1").arg(i), looks(series), &page));
        grid->addWidget(all.back(), i / 3, i % 3);
    }
    page.resize(size);
    page.show();
    const double step = 1;
    std::vector<models::ChartData> updates;
    constexpr int repeats = 15;
    for (int i = 0; i <= repeats; ++i)
        updates.push_back(waves(series, points, 1.7e9 + i, step));
    const auto update = [&](int i) {
        const double end = 1.7e9 + i;
        for (ui::MetricChart *chart : all)
            chart->setData(updates[static_cast<std::size_t>(i)], {end - points * step, end}, 3);
    };
    update(repeats);
    QApplication::processEvents();
    std::printf("%-34s update %6.1f ms", name, medianCost(repeats, update));
    std::printf("   cross-hair %5.2f ms",
                medianCost(repeats, [&](int i) { group.setCrossHair(1.7e9 - 100 - i); }));
    page.hide();
    std::printf("   hidden %5.2f ms\n", medianCost(repeats, update));
}
} // namespace

int main(int argc, char **argv)
{
    const QApplication app(argc, argv);
    measure("1 chart x 12 series x 3,600 points", 1, 12, 3600, {1200, 600});
    measure("12 charts x 1 series x 3,600 points", 12, 1, 3600, {1240, 800});
    measure("9 charts x 2 series x 360 points", 9, 2, 360, {1240, 800});
    return 0;
}
