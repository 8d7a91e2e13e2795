#pragma once

#include "ui/shell/command_field.h"
#include "ui/shell/page.h"

#include <QHash>
#include <QObject>

class QActionGroup;
class QMainWindow;
class QMenu;

namespace models {
class EndpointList;
class LocalEngine;
} // namespace models

namespace ui {

class Dock;
class NavigationModel;
class Theme;

/// The menus of the window and what stands in them: every action is here, so the command field finds every
/// one. What the window itself must do comes out as signals.
class WindowActions : public QObject
{
    Q_OBJECT

public:
    /// All outlive this.
    WindowActions(Theme &theme, models::EndpointList &endpoints, models::LocalEngine &engine,
                  NavigationModel &pages, QMainWindow &window);

    /// Lists the page under View, and its actions where they belong as soon as it is the current one.
    void addPage(Page *page);
    void addDock(Dock *dock);
    void setCurrentPage(Page *page);

    /// Everything that can be done now: pages, targets, the actions of the menus.
    [[nodiscard]] QList<Command> commands() const;

signals:
    void pageWanted(ui::Page *page);
    void refreshWanted();
    void stopWanted();
    void commandFieldWanted();
    void areaWanted(int step); ///< +1: next, -1: previous
    void navigationToggled();
    void layoutResetWanted();
    void addTargetWanted();
    void removeTargetWanted();
    void helpWanted();
    void aboutWanted();
    void quitWanted();

private:
    void fillFile();
    void fillEdit();
    void fillView();
    void fillTarget();
    void fillTools();
    void fillWindow();
    void fillHelp();
    void updateTargets();
    void updateEngine();
    void hideEmptyMenus();
    QAction *add(QMenu *menu, const QString &text, const QKeySequence &keys, const std::function<void()> &run,
                 const QString &iconName = {});
    void collect(const QMenu *menu, QList<Command> &found) const;

    Theme &m_theme;
    models::EndpointList &m_endpoints;
    models::LocalEngine &m_engine;
    NavigationModel &m_pages;
    QMainWindow &m_window;
    QHash<MenuId, QMenu *> m_menus;
    QMenu *m_windowMenu;
    QMenu *m_helpMenu;
    QActionGroup *m_pageGroup;
    QActionGroup *m_targetGroup;
    QAction *m_pagesEnd = nullptr; // pages stand before it
    QAction *m_docksEnd = nullptr; // docks' switches stand before it
    QAction *m_targetsEnd = nullptr; // targets stand before it
    QHash<QAction *, Dock *> m_dockActions;
    QAction *m_start = nullptr;
    QAction *m_stop = nullptr;
    QAction *m_restart = nullptr;
    QAction *m_remove = nullptr;
    QHash<MenuId, QAction *> m_pageActionsEnd; // the current page's actions stand before it
    QHash<Page *, QList<PageAction>> m_pageActions;
    Page *m_current = nullptr;
};

} // namespace ui
