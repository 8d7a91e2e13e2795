#include "ui/shell/engine_log_panel.h"

#include "models/engine/local_engine.h"
#include "models/log/log_buffer.h"
#include "ui/theme/theme.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/log_view.h"
#include "ui/widgets/state_label.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QShortcut>
#include <QStyle>
#include <QVBoxLayout>

namespace ui {

EngineLogPanel::EngineLogPanel(const Theme &theme, models::LocalEngine &engine, models::LogBuffer &log,
                               QWidget *parent)
    : QWidget(parent), m_engine(engine), m_view(new LogView(theme, log)), m_state(new StateLabel(theme)),
      m_filter(new QLineEdit), m_isExpression(new QToolButton), m_follow(new QToolButton),
      m_startStop(new IconButton(theme, QStringLiteral("play"), tr("Start the engine")))
{
    m_view->setAccessibleName(tr("Engine log"));
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(newBar(theme));
    layout->addWidget(m_view, 1);
    connect(&engine, &models::LocalEngine::stateChanged, this, &EngineLogPanel::updateState);
    updateState();
}

QWidget *EngineLogPanel::newBar(const Theme &theme)
{
    auto *bar = new QWidget;
    m_filter->setPlaceholderText(tr("Filter"));
    m_filter->setAccessibleName(tr("Filter of the engine log"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setMaximumWidth(260);
    m_isExpression->setText(QStringLiteral(".*"));
    m_isExpression->setCheckable(true);
    m_isExpression->setToolTip(tr("Regular expression (Ctrl+Shift+F)"));
    m_isExpression->setAccessibleName(tr("Filter is a regular expression"));
    m_follow->setText(tr("Follow"));
    m_follow->setCheckable(true);
    m_follow->setChecked(true);
    m_follow->setToolTip(tr("Show new lines as they come (End)"));
    auto *copy = new IconButton(theme, QStringLiteral("copy"), tr("Copy the log"));
    auto *layout = new QHBoxLayout(bar);
    layout->setContentsMargins(12, 6, 8, 6);
    layout->setSpacing(8);
    layout->addWidget(m_state, 1);
    layout->addWidget(m_filter);
    layout->addWidget(m_isExpression);
    layout->addWidget(m_follow);
    layout->addWidget(copy);
    layout->addWidget(m_startStop);

    connect(m_filter, &QLineEdit::textChanged, this, &EngineLogPanel::applyFilter);
    connect(m_isExpression, &QToolButton::toggled, this, &EngineLogPanel::applyFilter);
    connect(m_follow, &QToolButton::toggled, m_view, &LogView::setFollowing);
    connect(m_view, &LogView::followingChanged, m_follow, &QToolButton::setChecked);
    connect(copy, &QToolButton::clicked, m_view, &LogView::copy);
    connect(m_startStop, &QToolButton::clicked, this, [this] {
        const auto state = m_engine.state();
        const bool runs
            = state == models::LocalEngine::State::Ready || state == models::LocalEngine::State::Starting;
        runs ? m_engine.stop() : m_engine.start();
    });
    auto *expression = new QShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+F")), this);
    expression->setContext(Qt::WidgetWithChildrenShortcut);
    connect(expression, &QShortcut::activated, m_isExpression, &QToolButton::toggle);
    return bar;
}

void EngineLogPanel::applyFilter()
{
    const bool isValid = m_view->setFilter(m_filter->text(), m_isExpression->isChecked());
    m_filter->setProperty("invalid", !isValid);
    m_filter->setToolTip(isValid ? QString() : tr("This is not a regular expression yet."));
    m_filter->style()->polish(m_filter);
}

void EngineLogPanel::updateState()
{
    using Engine = models::LocalEngine;
    bool runs = false;
    switch (m_engine.state()) {
    case Engine::State::Stopped:
        m_state->setState(State::Paused, tr("Stopped"));
        break;
    case Engine::State::Starting:
        m_state->setState(State::Run, tr("Starting: %1").arg(m_engine.reason()));
        runs = true;
        break;
    case Engine::State::Ready:
        m_state->setState(State::Ok,
                          tr("Ready at %1, process %2, started in %3 s")
                              .arg(m_engine.baseUrl().toString())
                              .arg(m_engine.processId())
                              .arg(double(m_engine.startTime().count()) / 1000.0, 0, 'f', 1));
        runs = true;
        break;
    case Engine::State::Failed:
        m_state->setState(State::Err, tr("Failed: %1").arg(m_engine.reason()), m_engine.reason());
        break;
    }
    const QString action = runs ? tr("Stop the engine") : tr("Start the engine");
    m_startStop->setIconName(runs ? QStringLiteral("stop") : QStringLiteral("play"));
    m_startStop->setToolTip(action);
    m_startStop->setAccessibleName(action);
}

} // namespace ui
