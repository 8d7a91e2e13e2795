#include "ui/charts/metric_chart.h"

#include "models/metrics/value_format.h"
#include "ui/charts/chart_group.h"
#include "ui/charts/chart_legend.h"
#include "ui/charts/chart_overlay.h"
#include "ui/charts/metric_chart_accessible.h"
#include "ui/charts/plot_area.h"
#include "ui/theme/theme.h"

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QImage>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace ui {
MetricChart::MetricChart(const Theme &theme, ChartGroup &group, const QString &title,
                         std::vector<SeriesStyle> styles, QWidget *parent)
    : QFrame(parent), m_theme(theme), m_group(group), m_styles(std::move(styles)),
      m_stateIcon(new QLabel(this)), m_title(new QLabel(title, this)), m_unit(new QLabel(this)),
      m_menuButton(new QToolButton(this)), m_menu(new QMenu(this)), m_legend(new ChartLegend(theme, this)),
      m_area(new PlotArea(theme, group, m_styles, this))
{
    installMetricChartAccessible();
    setProperty("card", true);
    setAccessibleName(title);
    setFocusPolicy(Qt::StrongFocus);
    setLayoutDirection(Qt::LeftToRight); // Charts are never mirrored
    m_stateIcon->hide();
    m_title->setProperty("role", "chartTitle");
    m_unit->setProperty("role", "caption");
    m_menuButton->setProperty("flat", true);
    m_menuButton->setMenu(m_menu);
    m_menuButton->setPopupMode(QToolButton::InstantPopup);
    m_menuButton->setStyleSheet(QStringLiteral("QToolButton { padding: 0; min-height: 14px; }"
                                               "QToolButton::menu-indicator { image: none; width: 0; }"));
    m_menuButton->setFixedSize(24, 20);
    m_menuButton->setAccessibleName(tr("Menu of chart %1").arg(title));
    m_menuButton->setToolTip(tr("Copy and save"));
    buildMenu();

    auto *head = new QHBoxLayout;
    head->setContentsMargins(10, 6, 6, 0);
    head->setSpacing(8);
    head->addWidget(m_stateIcon);
    head->addWidget(m_title);
    head->addWidget(m_unit);
    head->addStretch();
    head->addWidget(m_menuButton);
    auto *keys = new QHBoxLayout;
    keys->setContentsMargins(10, 0, 10, 0);
    keys->addWidget(m_legend);
    auto *column = new QVBoxLayout(this);
    column->setContentsMargins(1, 1, 1, 1);
    column->setSpacing(0);
    column->addLayout(head);
    column->addLayout(keys);
    column->addWidget(m_area, 1);
    connect(&group, &ChartGroup::crossHairChanged, this, &MetricChart::showValues);
    restyle();
}

MetricChart::~MetricChart() = default;

void MetricChart::buildMenu()
{
    QAction *copy = m_menu->addAction(tr("&Copy values"));
    connect(copy, &QAction::triggered, this, [this] { QApplication::clipboard()->setText(valuesText()); });
    connect(m_menu->addAction(tr("Save as &picture…")), &QAction::triggered, this,
            &MetricChart::pictureRequested);
    connect(m_menu->addAction(tr("Save &values as CSV…")), &QAction::triggered, this,
            &MetricChart::csvRequested);
}

void MetricChart::allowObjective()
{
    m_menu->addSeparator();
    connect(m_menu->addAction(tr("Set &objective…")), &QAction::triggered, this,
            &MetricChart::objectiveRequested);
}

void MetricChart::setData(const models::ChartData &data, const models::TimeWindow &window, double longestStep)
{
    m_area->setData(data, window, longestStep);
    if (!isVisible())
        return; // showValues() follows from the focus, the cross-hair or the next data
    showValues();
}

void MetricChart::setEvents(const std::vector<models::ChartEvent> &events)
{
    m_area->setEvents(events);
}

void MetricChart::restyle()
{
    QFont font = m_theme.font(Theme::FontRole::Body);
    font.setWeight(QFont::DemiBold);
    m_title->setFont(font);
    m_menuButton->setIcon(m_theme.icon(QStringLiteral("dots")));
    m_stateIcon->setPixmap(m_theme.icon(QStringLiteral("state-warn")).pixmap(14, 14));
    m_area->restyle();
    update();
}

QString MetricChart::title() const
{
    return m_title->text();
}

double MetricChart::valueOf(const models::SeriesData &series) const
{
    if (const std::optional<double> time = m_group.crossHair())
        return valueNear(series.samples, *time, m_area->reach());
    return series.latest.value_or(std::numeric_limits<double>::quiet_NaN());
}

int MetricChart::seriesCount() const
{
    return static_cast<int>(m_area->data().series.size());
}

QString MetricChart::seriesText(int index) const
{
    const models::ChartData &data = m_area->data();
    if (index < 0 || index >= seriesCount())
        return {};
    const models::SeriesData &series = data.series[static_cast<std::size_t>(index)];
    return series.name + u' ' + models::valueText(data.unit, valueOf(series));
}

QString MetricChart::valuesText() const
{
    const models::ChartData &data = m_area->data();
    QString text = title();
    if (const std::optional<double> time = m_group.crossHair())
        text += u'\t' + momentText(*time, m_area->window());
    for (const models::SeriesData &series : data.series)
        text += u'\n' + series.name + u'\t' + models::valueText(data.unit, valueOf(series));
    return text;
}

void MetricChart::showValues()
{
    const models::ChartData &data = m_area->data();
    std::vector<ChartLegend::Key> keys;
    for (std::size_t i = 0; i < data.series.size() && i < m_styles.size(); ++i) {
        const double value = valueOf(data.series[i]);
        keys.push_back({m_styles[i], data.series[i].name,
                        std::isnan(value) ? QStringLiteral("–") : models::valueText(data.unit, value)});
    }
    m_legend->setKeys(data.whyEmpty.isEmpty() || m_area->hasValues() ? std::move(keys)
                                                                     : std::vector<ChartLegend::Key>(),
                      data.note);
    m_unit->setText(m_area->hasValues() ? models::axisUnitText(data.unit, m_area->layer().axis().maximum)
                                        : QString());
    m_stateIcon->setVisible(data.isWarning);
    m_stateIcon->setAccessibleName(data.isWarning ? tr("Warning") : QString());
    m_stateIcon->setToolTip(data.isWarning && data.limit ? tr("Beyond %1").arg(data.limit->label)
                                                         : QString());
}

bool MetricChart::writePicture(const QString &path)
{
    constexpr int scale = 2;
    QImage image(size() * scale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(m_theme.color(QStringLiteral("bg.panel")));
    render(&image);
    return image.save(path, "PNG");
}

const models::SeriesData *MetricChart::densestSeries() const
{
    const std::vector<models::SeriesData> &all = m_area->data().series;
    const auto densest = std::max_element(all.begin(), all.end(), [](const auto &left, const auto &right) {
        return left.samples.size() < right.samples.size();
    });
    return densest == all.end() ? nullptr : &*densest;
}

void MetricChart::moveCrossHair(int key)
{
    const models::SeriesData *series = densestSeries();
    const models::TimeWindow window = m_area->window();
    if (!series || !(window.length() > 0))
        return;
    std::vector<double> times;
    for (const models::Sample &sample : series->samples) {
        if (sample.time >= window.from && sample.time <= window.to)
            times.push_back(sample.time);
    }
    if (times.empty())
        return;
    const double current
        = m_group.crossHair().value_or(key == Qt::Key_Left ? window.to + 1 : window.from - 1);
    double next = current;
    if (key == Qt::Key_Home) {
        next = times.front();
    } else if (key == Qt::Key_End) {
        next = times.back();
    } else if (key == Qt::Key_Left) {
        const auto at = std::lower_bound(times.begin(), times.end(), current);
        next = at == times.begin() ? times.front() : *(at - 1);
    } else {
        const auto at = std::upper_bound(times.begin(), times.end(), current);
        next = at == times.end() ? times.back() : *at;
    }
    m_group.setCrossHair(next);
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
}

void MetricChart::keyPressEvent(QKeyEvent *event)
{
    if (event->matches(QKeySequence::Copy)) {
        QApplication::clipboard()->setText(valuesText());
        return;
    }
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Home:
    case Qt::Key_End:
        moveCrossHair(event->key());
        return;
    case Qt::Key_Escape:
        if (m_group.crossHair()) {
            m_group.setCrossHair(std::nullopt);
            return;
        }
        break;
    case Qt::Key_Menu:
        m_menuButton->showMenu();
        return;
    default:
        break;
    }
    QFrame::keyPressEvent(event);
}

void MetricChart::focusInEvent(QFocusEvent *event)
{
    QFrame::focusInEvent(event);
    update();
}

void MetricChart::focusOutEvent(QFocusEvent *event)
{
    QFrame::focusOutEvent(event);
    update();
}

void MetricChart::paintEvent(QPaintEvent *event)
{
    QFrame::paintEvent(event);
    if (!hasFocus())
        return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(m_theme.color(QStringLiteral("focus")), 2));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 6, 6);
}
} // namespace ui
