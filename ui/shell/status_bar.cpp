#include "ui/shell/status_bar.h"

#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"

#include <QLabel>

namespace ui {

namespace {
constexpr int StaleAfterSeconds = 15;
}

StatusBar::StatusBar(const Theme &theme, const QString &version, QWidget *parent)
    : QStatusBar(parent), m_connection(new StateLabel(theme)), m_delay(nullptr),
      m_metrics(new StateLabel(theme)), m_page(nullptr)
{
    setSizeGripEnabled(false);
    setAccessibleName(tr("Status"));
    const auto addState = [this](StateLabel *label) {
        label->setProperty("status", true);
        label->setContentsMargins(0, 0, 0, 0);
        addWidget(label);
    };
    auto *margin = new QWidget; // the first shape stands off the window's edge
    margin->setFixedWidth(8);
    addWidget(margin);
    addState(m_connection);
    m_delay = addSegment(tr("API delay"));
    addState(m_metrics);
    m_metrics->hide();
    m_page = addSegment(tr("Page status"));
    auto *shown = new QLabel(tr("Slipway %1").arg(version));
    shown->setProperty("status", true);
    addPermanentWidget(shown);
}

QLabel *StatusBar::addSegment(const QString &name)
{
    auto *label = new QLabel;
    label->setAccessibleName(name);
    label->setProperty("status", true);
    label->hide();
    addWidget(label);
    return label;
}

void StatusBar::setConnection(State state, const QString &text, const QString &detail)
{
    m_connection->setState(state, text, detail);
}

void StatusBar::setApiDelay(std::optional<std::chrono::milliseconds> delay)
{
    m_delay->setVisible(delay.has_value());
    if (delay)
        m_delay->setText(delay->count() > 0 ? tr("API %1 ms").arg(delay->count()) : tr("API under 1 ms"));
}

void StatusBar::setMetricsAge(int seconds)
{
    m_metrics->setVisible(seconds >= 0);
    if (seconds >= 0)
        m_metrics->setState(seconds > StaleAfterSeconds ? State::Unknown : State::None,
                            tr("Metrics %1 s ago").arg(seconds));
}

void StatusBar::setPageText(const QString &text)
{
    m_page->setVisible(!text.isEmpty());
    m_page->setText(text);
}

} // namespace ui
