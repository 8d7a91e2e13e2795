#pragma once

#include <QWidget>

class QLineEdit;
class QToolButton;

namespace models {
class LocalEngine;
class LogBuffer;
} // namespace models

namespace ui {

class IconButton;
class LogView;
class StateLabel;
class Theme;

/// What the dock "Engine log" holds: the engine's state, filter, follow, copy, and start, stop and start
/// again.
class EngineLogPanel : public QWidget
{
    Q_OBJECT

public:
    /// All outlive the panel.
    EngineLogPanel(const Theme &theme, models::LocalEngine &engine, models::LogBuffer &log,
                   QWidget *parent = nullptr);

    [[nodiscard]] LogView *view() const { return m_view; }

private:
    QWidget *newBar(const Theme &theme);
    void updateState();
    void applyFilter();

    models::LocalEngine &m_engine;
    LogView *m_view;
    StateLabel *m_state;
    QLineEdit *m_filter;
    QToolButton *m_isExpression;
    QToolButton *m_follow;
    IconButton *m_startStop;
};

} // namespace ui
