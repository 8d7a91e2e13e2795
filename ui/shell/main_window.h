#pragma once

#include "ui/shell/navigation_model.h"

#include <QMainWindow>

class QComboBox;
class QSettings;
class QStackedWidget;
class QToolBar;

namespace models {
class EndpointList;
class EndpointProbe;
class LocalEngine;
class LogBuffer;
class ModelPull;
} // namespace models

namespace ui {

class Banner;
class CommandField;
class Dock;
class DockSet;
class IconButton;
class NavigationPanel;
class Page;
class StateLabel;
class StatusBar;
class TargetModel;
class Theme;
class WindowActions;

/// What the window shows and steers; made in app/, outlives the window.
struct WindowServices
{
    Theme &theme;
    QSettings &settings;
    models::EndpointList &endpoints;
    models::EndpointProbe &probe;
    models::LocalEngine &engine;
    models::LogBuffer &engineLog;
    models::ModelPull &pull;
};

/// The shell: menu bar with the command field, toolbar, navigation, pages, docks, status bar.
class MainWindow : public QMainWindow
{
    Q_OBJECT

public:
    explicit MainWindow(const WindowServices &services);
    ~MainWindow() override;

    void addPage(Page *page);
    /// The saved layout, theme-independent; also which page was the current one. After the last addPage().
    void restoreLayout();
    void saveLayout();

    void showPage(Page *page);
    /// Something that concerns no page ("the keys are not encrypted"), in a banner that can be dismissed.
    void showWarning(const QString &what, const QString &cause);
    [[nodiscard]] Page *currentPage() const;
    [[nodiscard]] const QList<Page *> &pages() const { return m_pages.pages(); }
    [[nodiscard]] CommandField *commandField() const { return m_commandField; }
    [[nodiscard]] DockSet &docks() { return *m_docks; }

protected:
    void closeEvent(QCloseEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void keyPressEvent(QKeyEvent *event) override;

private:
    void setUpMenuBar();
    void setUpToolBar();
    void setUpNavigation();
    void setUpPages();
    void setUpDocks();
    void setUpStatusBar();
    void updateTarget();
    void updateNarrow();
    void goToArea(int step);
    void focusArea(QWidget *area);
    void showLog();
    void addTarget();
    void removeTarget();
    void resetLayout();

    WindowServices m_services;
    NavigationModel m_pages;
    TargetModel *m_targets;
    WindowActions *m_actions;
    CommandField *m_commandField = nullptr;
    QToolBar *m_toolBar = nullptr;
    QComboBox *m_targetBox = nullptr;
    IconButton *m_refresh = nullptr;
    StateLabel *m_targetState = nullptr;
    NavigationPanel *m_navigation = nullptr;
    Banner *m_banner = nullptr;
    Banner *m_warning = nullptr;
    QStackedWidget *m_stack = nullptr;
    DockSet *m_docks = nullptr;
    Dock *m_logDock = nullptr;
    StatusBar *m_status = nullptr;
    bool m_isNavigationNarrow = false; ///< by the user; a narrow window makes it narrow in any case
};

} // namespace ui
