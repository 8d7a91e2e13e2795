#include "ui/pages/metrics/metrics_toolbar.h"

#include "models/metrics/value_format.h"
#include "ui/pages/metrics/range_popup.h"
#include "ui/theme/theme.h"
#include "ui/widgets/segmented_buttons.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScopedValueRollback>
#include <QToolButton>

#include <algorithm>
#include <array>

namespace ui {
namespace {
constexpr std::array<double, 5> ranges = {900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600};
constexpr int customSegment = static_cast<int>(ranges.size());
} // namespace

MetricsToolbar::MetricsToolbar(models::MetricsController &controller, const Theme &theme, QWidget *parent)
    : QWidget(parent), m_controller(controller), m_theme(theme), m_chooser(new QComboBox(this)),
      m_ranges(new SegmentedButtons(tr("Time range"), this)), m_popup(new RangePopup(this)),
      m_live(new QToolButton(this)), m_step(new QLabel(this)), m_csv(new QToolButton(this))
{
    m_chooser->setMinimumWidth(206);
    m_chooser->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_chooser->setAccessibleName(tr("Server and model"));
    m_chooser->setPlaceholderText(tr("Choose a server"));
    for (const QString &text : {tr("15 min"), tr("1 h"), tr("6 h"), tr("24 h"), tr("7 d")})
        m_ranges->addSegment(text);
    m_ranges->addSegment(tr("Custom"), tr("Choose start and end, or drag in a chart"));
    m_live->setText(tr("Live"));
    m_live->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_live->setCheckable(true);
    m_live->setToolTip(tr("The window ends now and moves"));
    m_step->setProperty("role", "secondary");
    m_csv->setText(tr("CSV"));
    m_csv->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_csv->setProperty("flat", true);
    m_csv->setToolTip(tr("Save the values of all charts"));

    auto *row = new QHBoxLayout(this);
    row->setContentsMargins(14, 8, 14, 8);
    row->setSpacing(8);
    row->addWidget(m_chooser);
    row->addSpacing(8);
    row->addWidget(m_ranges);
    row->addWidget(m_live);
    row->addStretch();
    row->addWidget(m_step);
    row->addWidget(m_csv);

    connect(m_ranges, &SegmentedButtons::currentChanged, this, &MetricsToolbar::chooseSegment);
    connect(m_popup, &RangePopup::windowChosen, &controller, &models::MetricsController::showWindow);
    connect(m_live, &QToolButton::clicked, this, [this] {
        m_controller.goLive();
        update();
    });
    connect(m_csv, &QToolButton::clicked, this, &MetricsToolbar::csvRequested);
    connect(m_chooser, &QComboBox::activated, this, [this](int index) {
        if (index >= 0 && index < m_choices.size())
            emit endpointChosen(m_choices[index]);
        else
            emit otherServerRequested();
        update();
    });
    restyle();
    update();
}

void MetricsToolbar::setEndpoints(const QList<models::MetricsEndpoint> &endpoints)
{
    m_endpoints = endpoints;
    update();
}

void MetricsToolbar::fillChooser()
{
    const models::MetricsEndpoint &watched = m_controller.endpoint();
    const QStringList names = m_controller.modelNames();
    QStringList texts;
    int current = -1;
    m_choices.clear();
    QList<models::MetricsEndpoint> offered = m_endpoints;
    const auto isThere = std::any_of(offered.begin(), offered.end(),
                                     [&](const auto &one) { return one.name == watched.name; });
    if (!isThere && !watched.name.isEmpty())
        offered.prepend(
            {watched.name, watched.url, watched.bearer}); // Stopped: known, but not offered by the program
    for (const models::MetricsEndpoint &endpoint : offered) {
        const bool isWatched = endpoint.name == watched.name;
        const bool hasOne = isWatched && names.size() == 1;
        if (isWatched && watched.model.isEmpty())
            current = static_cast<int>(texts.size());
        const QString what = hasOne         ? names.first()
            : isWatched && names.size() > 1 ? tr("all models")
                                            : QString();
        texts << (what.isEmpty() ? endpoint.name : endpoint.name + QStringLiteral(" · ") + what);
        m_choices << endpoint;
        if (!isWatched || names.size() < 2)
            continue;
        for (const QString &name : names) { // One page tells of several models
            if (name == watched.model)
                current = static_cast<int>(texts.size());
            texts << endpoint.name + QStringLiteral(" · ") + name;
            m_choices << endpoint;
            m_choices.last().model = name;
        }
    }
    texts << tr("Other server…");
    QStringList shown;
    for (int i = 0; i < m_chooser->count(); ++i)
        shown << m_chooser->itemText(i);
    if (shown != texts) {
        m_chooser->clear();
        m_chooser->addItems(texts);
    }
    m_chooser->setCurrentIndex(current);
}

void MetricsToolbar::chooseSegment(int index)
{
    if (m_isFollowing || index < 0)
        return;
    if (index < customSegment)
        m_controller.setRange(ranges.at(static_cast<std::size_t>(index)));
    else
        m_popup->openBelow(m_ranges, m_controller.window());
}

void MetricsToolbar::restyle()
{
    m_live->setIcon(m_theme.icon(QStringLiteral("play")));
    m_csv->setIcon(m_theme.icon(QStringLiteral("down")));
}

void MetricsToolbar::update()
{
    const QScopedValueRollback following(m_isFollowing, true);
    fillChooser();
    int segment = customSegment;
    for (std::size_t i = 0; i < ranges.size() && m_controller.isLive(); ++i) {
        if (ranges[i] == m_controller.range())
            segment = static_cast<int>(i);
    }
    if (m_ranges->current() != segment)
        m_ranges->setCurrent(segment);
    m_live->setChecked(m_controller.isLive());
    m_step->setText(tr("Step %1").arg(models::stepText(m_controller.step())));
}
} // namespace ui
