#include "ui/charts/plot_layer.h"

#include "models/metrics/value_format.h"
#include "ui/theme/theme.h"

#include <QAreaSeries>
#include <QChart>
#include <QDateTime>
#include <QGraphicsLayout>
#include <QLineSeries>
#include <QPainter>
#include <QValueAxis>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace ui {
namespace {
constexpr double leftMargin = 42;
constexpr double rightMargin = 12;
constexpr double topMargin = 12;
constexpr double bottomMargin = 22;
constexpr double barShare = 0.8; // The rest is the space between two bars
constexpr double areaOpacity = 0.14;
constexpr float bandOpacity = 0.16F;

QPen seriesPen(const QColor &color, SeriesDash dash)
{
    const double width = dash == SeriesDash::Solid ? 1.8 : 1.4;
    QPen pen(color, width);
    pen.setJoinStyle(Qt::BevelJoin); // Round ones are curves: they double the cost of a jagged line
    pen.setCapStyle(dash == SeriesDash::Solid ? Qt::SquareCap : Qt::FlatCap);
    QList<qreal> pattern; // In units of the pen's width
    for (const double length : dashPixels(dash))
        pattern.append(length / width);
    if (!pattern.isEmpty())
        pen.setDashPattern(pattern);
    return pen;
}

// Qt strokes a dashed line as one polygon with itself: ten times the cost of a solid one where it is jagged,
// and a line that turns at each pixel shows no dashes. Wider columns keep both the extremes and the dashes.
int columnsFor(SeriesDash dash, const QRectF &plot)
{
    const double pixels = dash == SeriesDash::Solid ? 1 : 4;
    return std::max(1, static_cast<int>(plot.width() / pixels));
}

// The rasteriser's cost grows with the square of what one path has on a scan line: long dashed runs are drawn
// in parts that share their end points. The charts of a page are narrow enough to need only one.
std::vector<ChartRun> inParts(const std::vector<ChartRun> &runs)
{
    constexpr qsizetype longest = 180;
    std::vector<ChartRun> parts;
    for (const ChartRun &run : runs) {
        for (qsizetype from = 0; from == 0 || from + 1 < run.size(); from += longest)
            parts.push_back(run.mid(from, longest + 1));
    }
    return parts;
}

QString timeTickText(double time, double step)
{
    const QDateTime at = QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(std::round(time * 1000)));
    if (step >= 86400)
        return at.toString(QStringLiteral("d MMM"));
    return at.toString(step < 60 ? QStringLiteral("HH:mm:ss") : QStringLiteral("HH:mm"));
}

// A bar is readable from some five pixels on: samples of one bar are its mean.
constexpr int barsInWindow = 60;

struct Bar
{
    double from = 0; // Seconds since the epoch
    double value = 0;
    int count = 0;
};

std::vector<Bar> binned(const std::vector<models::Sample> &samples, const models::TimeWindow &window,
                        double width)
{
    std::vector<Bar> bars;
    for (const models::Sample &sample : samples) {
        if (std::isnan(sample.value) || sample.time < window.from || sample.time > window.to)
            continue;
        const double from = std::floor(sample.time / width) * width;
        if (bars.empty() || bars.back().from < from)
            bars.push_back({from, 0, 0});
        Bar &bar = bars.back();
        ++bar.count;
        bar.value += (sample.value - bar.value) / bar.count;
    }
    return bars;
}
} // namespace

struct PlotLayer::Piece
{
    QLineSeries *line = nullptr; // The line, or the upper edge of an area
    QLineSeries *outline = nullptr; // Of an area: its upper edge as a line of its own
    QLineSeries *base = nullptr; // Of an area: its lower edge
    QAreaSeries *area = nullptr; // Fills; a pen would also draw its sides and floor
};

struct PlotLayer::Track
{
    SeriesStyle style;
    std::vector<Piece> pieces;
};

PlotLayer::PlotLayer(const Theme &theme)
    : m_theme(theme), m_chart(new QChart), m_xAxis(new QValueAxis), m_yAxis(new QValueAxis)
{
    m_scene.setItemIndexMethod(QGraphicsScene::NoIndex);
    m_chart->setBackgroundVisible(false);
    m_chart->setPlotAreaBackgroundVisible(false);
    m_chart->setAnimationOptions(QChart::NoAnimation);
    m_chart->legend()->hide();
    m_chart->layout()->setContentsMargins(0, 0, 0, 0);
    m_chart->setMargins({});
    m_chart->addAxis(m_xAxis, Qt::AlignBottom);
    m_chart->addAxis(m_yAxis, Qt::AlignLeft);
    m_xAxis->setVisible(false); // Ticks, grid and labels are drawn by drawGrid(): the axes only scale
    m_yAxis->setVisible(false);
    m_xAxis->setRange(-1, 0);
    m_yAxis->setRange(0, m_axis.maximum);
    m_scene.addItem(m_chart);
}

PlotLayer::~PlotLayer() = default;

void PlotLayer::setStyles(const std::vector<SeriesStyle> &styles)
{
    m_chart->removeAllSeries();
    m_tracks.clear();
    for (const SeriesStyle &style : styles) {
        m_tracks.push_back(std::make_unique<Track>());
        m_tracks.back()->style = style;
    }
    m_isDirty = true;
}

double PlotLayer::greatestValue(const models::ChartData &data) const
{
    double greatest = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < data.series.size() && i < m_tracks.size(); ++i) {
        const bool isBars = m_tracks[i]->style.kind == SeriesKind::Bars;
        double most = std::numeric_limits<double>::quiet_NaN();
        for (const models::Sample &sample : data.series[i].samples) {
            if (sample.time >= m_window.from && sample.time <= m_window.to && std::isfinite(sample.value))
                most = std::fmax(most, isBars ? sample.value : std::fmax(sample.value, sample.high));
        }
        // Stacked bars reach up to their sum at most
        greatest = isBars && std::isfinite(greatest) && std::isfinite(most) ? greatest + most
                                                                            : std::fmax(greatest, most);
    }
    // A limit far above the values would flatten them: it is shown when the values come near it.
    if (data.limit && (data.unit == models::ChartUnit::Ratio || greatest > data.limit->value / 2))
        greatest = std::fmax(greatest, data.limit->value);
    return greatest;
}

bool PlotLayer::setData(const models::ChartData &data, const models::TimeWindow &window, double longestStep)
{
    const int replacedBefore = m_replaceCount;
    const bool isOtherRange = std::abs(window.length() - m_window.length()) > 1e-6 || m_unit != data.unit;
    const bool didMove = m_window != window;
    m_window = window;
    m_unit = data.unit;
    m_longestStep = longestStep;
    const double greatest = greatestValue(data);
    const NiceAxis axis = isOtherRange ? niceAxis(m_unit, greatest) : nextAxis(m_unit, m_axis, greatest);
    if (isOtherRange)
        m_xAxis->setRange(-window.length(), 0);
    const bool didStep = axis != m_axis;
    if (didStep) {
        m_axis = axis;
        m_yAxis->setRange(0, axis.maximum);
    }
    for (std::size_t i = 0; i < m_tracks.size(); ++i) {
        if (m_tracks[i]->style.kind == SeriesKind::Bars)
            continue;
        std::vector<ChartRun> runs;
        const SeriesDash dash = m_tracks[i]->style.dash;
        if (i < data.series.size())
            runs = decimate(data.series[i].samples, window, columnsFor(dash, m_plot), longestStep);
        if (dash != SeriesDash::Solid)
            runs = inParts(runs);
        fill(*m_tracks[i], runs);
    }
    fillBars(data);
    collectBands(data);
    m_isDirty = m_isDirty || isOtherRange || didMove || didStep || m_replaceCount != replacedBefore;
    return m_isDirty;
}

void PlotLayer::fill(Track &track, const std::vector<ChartRun> &runs)
{
    const double dot = m_window.length() / std::max(1.0, m_plot.width());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        ChartRun points = track.style.kind == SeriesKind::Step ? stepped(runs[i]) : runs[i];
        if (points.size() == 1) // A lone sample between gaps has to be seen
            points = {{points[0].x() - dot, points[0].y()}, {points[0].x() + dot, points[0].y()}};
        Piece &target = piece(track, i);
        if (target.base)
            setPoints(target.base, {{points.constFirst().x(), 0}, {points.constLast().x(), 0}});
        setPoints(target.line, points);
        if (target.outline)
            setPoints(target.outline, points);
    }
    for (std::size_t i = runs.size(); i < track.pieces.size(); ++i) {
        setPoints(track.pieces[i].line, {});
        if (track.pieces[i].base)
            setPoints(track.pieces[i].base, {});
        if (track.pieces[i].outline)
            setPoints(track.pieces[i].outline, {});
    }
}

// All bars of a series are one area whose edges go straight up and down; a later series stands on the earlier
// ones.
void PlotLayer::fillBars(const models::ChartData &data)
{
    const double barWidth = m_window.length() / barsInWindow;
    std::map<double, double> tops; // By a bar's start: how high the bars of earlier series reach
    for (std::size_t i = 0; i < m_tracks.size() && i < data.series.size(); ++i) {
        if (m_tracks[i]->style.kind != SeriesKind::Bars)
            continue;
        ChartRun upper;
        ChartRun lower;
        for (const Bar &bar : binned(data.series[i].samples, m_window, barWidth)) {
            if (!(bar.value > 0))
                continue;
            double &top = tops[bar.from];
            const double left = bar.from - m_window.to;
            const double right = left + barWidth * barShare;
            const double floor = top;
            top += bar.value;
            upper << QPointF(left, floor) << QPointF(left, top) << QPointF(right, top)
                  << QPointF(right, floor);
            lower << QPointF(left, floor) << QPointF(right, floor);
        }
        Piece &target = piece(*m_tracks[i], 0);
        setPoints(target.base, lower);
        setPoints(target.line, upper);
    }
}

void PlotLayer::collectBands(const models::ChartData &data)
{
    m_bands.clear();
    const auto hasRange = [](const models::Sample &sample) { return sample.high > sample.low; };
    for (std::size_t i = 0; i < m_tracks.size() && i < data.series.size(); ++i) {
        const std::vector<models::Sample> &samples = data.series[i].samples;
        // Only solid lines: three bands over each other say nothing.
        if (m_tracks[i]->style.kind == SeriesKind::Bars || m_tracks[i]->style.dash != SeriesDash::Solid
            || std::none_of(samples.begin(), samples.end(), hasRange))
            continue;
        Band band{i, {}};
        std::copy_if(samples.begin(), samples.end(), std::back_inserter(band.samples),
                     [this](const models::Sample &sample) {
                         return sample.time >= m_window.from && sample.time <= m_window.to;
                     });
        m_bands.push_back(std::move(band));
    }
}

// Drawn here, not by QtCharts: a few hundred points that change only with the window.
void PlotLayer::drawBands(QPainter &painter) const
{
    painter.save();
    painter.setClipRect(m_plot);
    painter.setPen(Qt::NoPen);
    for (const Band &band : m_bands) {
        QColor color = m_theme.color(m_tracks[band.track]->style.colorName);
        color.setAlphaF(bandOpacity);
        painter.setBrush(color);
        QPolygonF above;
        QPolygonF below;
        double previous = std::numeric_limits<double>::quiet_NaN();
        const auto finish = [&] {
            std::reverse(below.begin(), below.end());
            if (above.size() > 1)
                painter.drawPolygon(above + below);
            above.clear();
            below.clear();
        };
        for (const models::Sample &sample : band.samples) {
            if (std::isnan(sample.value) || (m_longestStep > 0 && sample.time - previous > m_longestStep))
                finish();
            previous = sample.time;
            if (std::isnan(sample.value))
                continue;
            above << QPointF(xOf(sample.time), yOf(std::fmax(sample.value, sample.high)));
            below << QPointF(xOf(sample.time), yOf(std::fmin(sample.value, sample.low)));
        }
        finish();
    }
    painter.restore();
}

void PlotLayer::setPoints(QLineSeries *series, const ChartRun &points)
{
    if (series->points() == points)
        return;
    series->replace(points);
    ++m_replaceCount;
}

PlotLayer::Piece &PlotLayer::piece(Track &track, std::size_t index)
{
    while (track.pieces.size() <= index) {
        Piece piece;
        const bool isArea = track.style.kind == SeriesKind::Area;
        if (isArea || track.style.kind == SeriesKind::Bars) {
            piece.area = new QAreaSeries;
            piece.line = new QLineSeries(piece.area);
            piece.base = new QLineSeries(piece.area);
            piece.area->setUpperSeries(piece.line);
            piece.area->setLowerSeries(piece.base);
            show(piece.area);
            if (isArea)
                show(piece.outline = new QLineSeries);
        } else {
            show(piece.line = new QLineSeries);
        }
        stylePiece(track, piece);
        track.pieces.push_back(piece);
    }
    return track.pieces[index];
}

void PlotLayer::show(QAbstractSeries *series)
{
    m_chart->addSeries(series);
    series->attachAxis(m_xAxis);
    series->attachAxis(m_yAxis);
}

void PlotLayer::stylePiece(const Track &track, Piece &piece) const
{
    const QColor color = m_theme.color(track.style.colorName);
    const QPen pen = seriesPen(color, track.style.dash);
    if (!piece.area) {
        piece.line->setPen(pen);
        return;
    }
    QColor fill = color;
    const bool isBars = track.style.kind == SeriesKind::Bars;
    fill.setAlphaF(isBars ? 1.0F : static_cast<float>(areaOpacity));
    piece.area->setPen(Qt::NoPen);
    if (piece.outline)
        piece.outline->setPen(pen);
    piece.area->setBrush(fill);
}

void PlotLayer::restyle()
{
    for (const std::unique_ptr<Track> &track : m_tracks) {
        for (Piece &piece : track->pieces)
            stylePiece(*track, piece);
    }
    m_isDirty = true;
}

void PlotLayer::resize(const QSize &size)
{
    if (size == m_size)
        return;
    m_size = size;
    const double width = std::max(1.0, size.width() - leftMargin - rightMargin);
    const double height = std::max(1.0, size.height() - topMargin - bottomMargin);
    m_plot = {leftMargin, topMargin, width, height};
    m_scene.setSceneRect(QRectF(QPointF(), QSizeF(size)));
    m_chart->resize(size);
    m_chart->setPlotArea(m_plot);
    m_chart->layout()->activate();
    m_isDirty = true;
}

double PlotLayer::xOf(double time) const
{
    return m_plot.left() + (time - m_window.from) / std::max(1e-9, m_window.length()) * m_plot.width();
}

double PlotLayer::timeAt(double x) const
{
    return m_window.from + (x - m_plot.left()) / m_plot.width() * m_window.length();
}

double PlotLayer::yOf(double value) const
{
    return m_plot.bottom() - value / m_axis.maximum * m_plot.height();
}

const QPixmap &PlotLayer::picture(qreal pixelRatio)
{
    const QSize wanted = m_size * pixelRatio;
    if (!m_isDirty && m_picture.size() == wanted)
        return m_picture;
    if (m_picture.size() != wanted) {
        m_picture = QPixmap(wanted);
        m_picture.setDevicePixelRatio(pixelRatio);
    }
    m_picture.fill(Qt::transparent);
    QPainter painter(&m_picture);
    drawGrid(painter);
    painter.setRenderHint(QPainter::Antialiasing);
    drawBands(painter);
    const QRectF area{QPointF(), QSizeF(m_size)};
    m_scene.render(&painter, area, area);
    m_isDirty = false;
    ++m_drawCount;
    return m_picture;
}

void PlotLayer::drawGrid(QPainter &painter) const
{
    painter.setFont(m_theme.font(Theme::FontRole::Caption));
    const QColor grid = m_theme.color(QStringLiteral("line"));
    const QColor label = m_theme.color(QStringLiteral("text.3"));
    for (int i = 0; i * m_axis.step <= m_axis.maximum * (1 + 1e-9); ++i) {
        const double value = i * m_axis.step;
        const double y = std::round(yOf(value)) + 0.5;
        painter.setPen(QPen(grid, 1));
        painter.drawLine(QPointF(m_plot.left(), y), QPointF(m_plot.right(), y));
        painter.setPen(label);
        painter.drawText(QRectF(0, y - 8, leftMargin - 6, 16), Qt::AlignRight | Qt::AlignVCenter,
                         models::tickText(m_unit, value, m_axis.step, m_axis.maximum));
    }
    const QDateTime end = QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(m_window.to * 1000));
    const int atMost = std::clamp(static_cast<int>(m_plot.width() / 68), 1, 8);
    const TimeTicks ticks = timeTicks(m_window, atMost, end.offsetFromUtc());
    for (const double time : ticks.times) {
        const double x = std::round(xOf(time)) + 0.5;
        painter.setPen(QPen(grid, 1));
        painter.drawLine(QPointF(x, m_plot.bottom()), QPointF(x, m_plot.bottom() + 3));
        painter.setPen(label);
        const QString text = timeTickText(time, ticks.step);
        const double width = painter.fontMetrics().horizontalAdvance(text) + 2;
        const double left = std::clamp(x - width / 2, m_plot.left() - 16, m_size.width() - width);
        painter.drawText(QRectF(left, m_plot.bottom() + 4, width, 16), Qt::AlignCenter, text);
    }
}
} // namespace ui
