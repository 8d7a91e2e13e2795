#pragma once

#include "models/metrics/chart_data.h"
#include "ui/charts/chart_style.h"
#include "ui/charts/decimation.h"
#include "ui/charts/nice_axis.h"

#include <QGraphicsScene>
#include <QPixmap>

#include <memory>
#include <vector>

class QAbstractSeries;
class QAreaSeries;
class QChart;
class QLineSeries;
class QPainter;
class QValueAxis;

namespace ui {
class Theme;

/// The slow part of a chart: series drawn by QtCharts on fixed axes, grid and tick labels, kept as a picture.
/// x runs from -length to 0, in seconds before the window's end, so it never changes while the chart is live;
/// y steps by NiceAxis. Series are decimated to pixel columns and set by replace(), and only if their points
/// are new.
class PlotLayer
{
public:
    explicit PlotLayer(const Theme &theme);
    ~PlotLayer();
    PlotLayer(const PlotLayer &) = delete;
    PlotLayer &operator=(const PlotLayer &) = delete;

    void setStyles(const std::vector<SeriesStyle> &styles);
    /// `longestStep`: see decimate(). Returns whether the picture has to be drawn again.
    bool setData(const models::ChartData &data, const models::TimeWindow &window, double longestStep);
    void resize(const QSize &size);
    /// Colours or fonts have changed.
    void restyle();

    /// The picture, drawn now if anything changed since the last call.
    const QPixmap &picture(qreal pixelRatio);

    [[nodiscard]] QRectF plotRect() const { return m_plot; }
    [[nodiscard]] const NiceAxis &axis() const { return m_axis; }
    [[nodiscard]] const models::TimeWindow &window() const { return m_window; }
    [[nodiscard]] double xOf(double time) const;
    [[nodiscard]] double timeAt(double x) const;
    [[nodiscard]] double yOf(double value) const;
    /// How often the picture was drawn: a cross-hair that moves must not change it.
    [[nodiscard]] int drawCount() const { return m_drawCount; }
    /// How often points were handed to QtCharts.
    [[nodiscard]] int replaceCount() const { return m_replaceCount; }

private:
    struct Piece; // One run of a series as QtCharts draws it
    struct Track; // One series: as many pieces as it has runs
    struct Band // Between the least and the greatest of what one sample stands for
    {
        std::size_t track = 0;
        std::vector<models::Sample> samples;
    };

    void collectBands(const models::ChartData &data);

    void fill(Track &track, const std::vector<ChartRun> &runs);
    void fillBars(const models::ChartData &data);
    Piece &piece(Track &track, std::size_t index);
    void show(QAbstractSeries *series);
    void stylePiece(const Track &track, Piece &piece) const;
    void setPoints(QLineSeries *series, const ChartRun &points);
    void drawGrid(QPainter &painter) const;
    void drawBands(QPainter &painter) const;
    [[nodiscard]] double greatestValue(const models::ChartData &data) const;

    const Theme &m_theme;
    QGraphicsScene m_scene;
    QChart *m_chart;
    QValueAxis *m_xAxis;
    QValueAxis *m_yAxis;
    std::vector<std::unique_ptr<Track>> m_tracks;
    std::vector<Band> m_bands;
    models::ChartUnit m_unit = models::ChartUnit::Count;
    models::TimeWindow m_window;
    NiceAxis m_axis;
    double m_longestStep = 0;
    QSize m_size;
    QRectF m_plot;
    QPixmap m_picture;
    bool m_isDirty = true;
    int m_drawCount = 0;
    int m_replaceCount = 0;
};
} // namespace ui
