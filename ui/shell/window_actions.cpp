#include "ui/shell/window_actions.h"

#include "models/engine/endpoint_list.h"
#include "models/engine/local_engine.h"
#include "ui/shell/dock.h"
#include "ui/shell/navigation_model.h"
#include "ui/theme/theme.h"

#include <QActionGroup>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QTimer>

namespace ui {

namespace {

/// The text without its mnemonic and dots: "Add target…" is "Add target" in a list.
QString plain(QString text)
{
    return text.remove(QRegularExpression(QStringLiteral("&(?!&)")));
}

/// A restyle takes most of a frame's patience by itself: it does not also wait for the command field to
/// close.
std::function<void()> inItsOwnTurn(Theme &theme, std::function<void(Theme &)> change)
{
    return [&theme, change = std::move(change)] {
        QTimer::singleShot(0, &theme, [&theme, change] { change(theme); });
    };
}

} // namespace

WindowActions::WindowActions(Theme &theme, models::EndpointList &endpoints, models::LocalEngine &engine,
                             NavigationModel &pages, QMainWindow &window)
    : QObject(&window), m_theme(theme), m_endpoints(endpoints), m_engine(engine), m_pages(pages),
      m_window(window), m_windowMenu(nullptr), m_helpMenu(nullptr), m_pageGroup(new QActionGroup(this)),
      m_targetGroup(new QActionGroup(this))
{
    auto *bar = window.menuBar();
    m_menus[MenuId::File] = bar->addMenu(tr("&File"));
    m_menus[MenuId::Edit] = bar->addMenu(tr("&Edit"));
    m_menus[MenuId::View] = bar->addMenu(tr("&View"));
    m_menus[MenuId::Target] = bar->addMenu(tr("&Target"));
    m_menus[MenuId::Tools] = bar->addMenu(tr("T&ools"));
    m_windowMenu = bar->addMenu(tr("&Window"));
    m_helpMenu = bar->addMenu(tr("&Help"));
    fillFile();
    fillEdit();
    fillView();
    fillTarget();
    fillTools();
    fillWindow();
    fillHelp();
    hideEmptyMenus();
}

QAction *WindowActions::add(QMenu *menu, const QString &text, const QKeySequence &keys,
                            const std::function<void()> &run, const QString &iconName)
{
    auto *action = new QAction(text, this);
    action->setShortcut(keys);
    action->setProperty("iconName", iconName); // for the command field; the menus show none
    connect(action, &QAction::triggered, this, run);
    menu->addAction(action);
    return action;
}

void WindowActions::fillFile()
{
    auto *menu = m_menus[MenuId::File];
    m_pageActionsEnd[MenuId::File] = menu->addSeparator();
    add(menu, tr("&Quit"), QKeySequence(QStringLiteral("Ctrl+Q")), [this] { emit quitWanted(); });
}

void WindowActions::fillEdit()
{
    m_pageActionsEnd[MenuId::Edit] = m_menus[MenuId::Edit]->addSeparator();
}

void WindowActions::fillView()
{
    auto *menu = m_menus[MenuId::View];
    m_pagesEnd = menu->addSeparator();
    add(
        menu, tr("&Refresh"), QKeySequence(Qt::Key_F5), [this] { emit refreshWanted(); },
        QStringLiteral("refresh"));
    m_pageActionsEnd[MenuId::View] = menu->addSeparator();
    auto *themes = new QActionGroup(this);
    const auto addTheme = [&](const QString &text, Theme::Mode mode) {
        QAction *action
            = add(menu, text, {}, inItsOwnTurn(m_theme, [mode](Theme &theme) { theme.setMode(mode); }));
        action->setCheckable(true);
        themes->addAction(action);
        const auto update = [this, action, mode] { action->setChecked(m_theme.mode() == mode); };
        connect(&m_theme, &Theme::changed, action, update);
        update();
    };
    addTheme(tr("&Dark theme"), Theme::Mode::Dark);
    addTheme(tr("&Light theme"), Theme::Mode::Light);
    menu->addSeparator();
    add(menu, tr("Zoom &in"), QKeySequence::ZoomIn,
        inItsOwnTurn(m_theme, [](Theme &theme) { theme.setZoom(theme.zoom() + 10); }), QStringLiteral("zin"));
    add(menu, tr("Zoom &out"), QKeySequence::ZoomOut,
        inItsOwnTurn(m_theme, [](Theme &theme) { theme.setZoom(theme.zoom() - 10); }),
        QStringLiteral("zout"));
    // Ctrl+0 is the tenth page
    add(menu, tr("&Normal size"), QKeySequence(QStringLiteral("Ctrl+Alt+0")),
        inItsOwnTurn(m_theme, [](Theme &theme) { theme.setZoom(100); }));
}

void WindowActions::fillTarget()
{
    auto *menu = m_menus[MenuId::Target];
    m_targetsEnd = menu->addSeparator();
    add(
        menu, tr("&Add target…"), {}, [this] { emit addTargetWanted(); }, QStringLiteral("plus"));
    m_remove = add(menu, tr("&Remove target…"), {}, [this] { emit removeTargetWanted(); });
    menu->addSeparator();
    m_start = add(
        menu, tr("&Start local engine"), {}, [this] { m_engine.start(); }, QStringLiteral("play"));
    m_stop = add(
        menu, tr("S&top local engine"), {}, [this] { m_engine.stop(); }, QStringLiteral("stop"));
    m_restart = add(
        menu, tr("R&estart local engine"), {}, [this] { m_engine.restart(); }, QStringLiteral("refresh"));
    m_pageActionsEnd[MenuId::Target] = menu->addSeparator();
    connect(&m_endpoints, &QAbstractItemModel::rowsInserted, this, &WindowActions::updateTargets);
    connect(&m_endpoints, &QAbstractItemModel::rowsRemoved, this, &WindowActions::updateTargets);
    connect(&m_endpoints, &models::EndpointList::currentChanged, this, &WindowActions::updateTargets);
    connect(&m_engine, &models::LocalEngine::stateChanged, this, &WindowActions::updateEngine);
    updateTargets();
    updateEngine();
}

void WindowActions::updateTargets()
{
    for (QAction *action : m_targetGroup->actions())
        delete action;
    for (int row = 0; row < m_endpoints.rowCount(); ++row) {
        auto *action = new QAction(m_endpoints.at(row).name, this);
        action->setCheckable(true);
        action->setChecked(row == m_endpoints.currentRow());
        action->setProperty("iconName", row == 0 ? QStringLiteral("local") : QStringLiteral("link"));
        connect(action, &QAction::triggered, this, [this, id = m_endpoints.at(row).id] {
            // later: choosing rebuilds this list, and with it the action that is at work here
            QMetaObject::invokeMethod(
                this, [this, id] { m_endpoints.setCurrentRow(m_endpoints.rowOf(id)); }, Qt::QueuedConnection);
        });
        m_targetGroup->addAction(action);
        m_menus[MenuId::Target]->insertAction(m_targetsEnd, action);
    }
    const bool isLocal = m_endpoints.currentRow() == 0;
    m_remove->setEnabled(!isLocal);
    m_remove->setToolTip(isLocal ? tr("This workstation is always a target") : QString());
}

void WindowActions::updateEngine()
{
    const auto state = m_engine.state();
    const bool runs
        = state == models::LocalEngine::State::Ready || state == models::LocalEngine::State::Starting;
    m_start->setEnabled(!runs);
    m_start->setToolTip(runs ? tr("It runs already") : QString());
    m_stop->setEnabled(runs);
    m_restart->setEnabled(runs);
    for (QAction *action : {m_stop, m_restart})
        action->setToolTip(runs ? QString() : tr("It does not run"));
}

void WindowActions::fillTools()
{
    auto *menu = m_menus[MenuId::Tools];
    add(
        menu, tr("&Command field"), QKeySequence(QStringLiteral("Ctrl+K")),
        [this] { emit commandFieldWanted(); }, QStringLiteral("search"));
    m_pageActionsEnd[MenuId::Tools] = menu->addSeparator();
}

void WindowActions::fillWindow()
{
    m_docksEnd = m_windowMenu->addSeparator();
    add(m_windowMenu, tr("&Next area"), QKeySequence(Qt::Key_F6), [this] { emit areaWanted(1); });
    add(m_windowMenu, tr("&Previous area"), QKeySequence(QStringLiteral("Shift+F6")),
        [this] { emit areaWanted(-1); });
    m_windowMenu->addSeparator();
    add(m_windowMenu, tr("Narrow or &wide navigation"), QKeySequence(QStringLiteral("Ctrl+B")),
        [this] { emit navigationToggled(); });
    add(
        m_windowMenu, tr("&Reset layout"), {}, [this] { emit layoutResetWanted(); }, QStringLiteral("undo"));
}

void WindowActions::fillHelp()
{
    add(m_helpMenu, tr("&Keys and help"), QKeySequence(Qt::Key_F1), [this] { emit helpWanted(); });
    add(m_helpMenu, tr("&About Slipway"), {}, [this] { emit aboutWanted(); });
}

void WindowActions::addPage(Page *page)
{
    auto *action = new QAction(page->traits().title, this);
    action->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(page->traits().shortcut)));
    action->setCheckable(true);
    action->setProperty("iconName", page->traits().iconName);
    action->setProperty("page", QVariant::fromValue(static_cast<QObject *>(page)));
    connect(action, &QAction::triggered, this, [this, page] { emit pageWanted(page); });
    m_pageGroup->addAction(action);
    m_menus[MenuId::View]->insertAction(m_pagesEnd, action);
    m_pageActions[page] = page->actions();
}

void WindowActions::addDock(Dock *dock)
{
    auto *action = new QAction(dock->windowTitle(), this);
    action->setCheckable(true);
    action->setChecked(dock->isWanted());
    connect(action, &QAction::triggered, dock, [dock](bool checked) {
        dock->setWanted(checked);
        if (checked)
            dock->raise();
    });
    connect(dock, &Dock::wantedChanged, action, &QAction::setChecked);
    m_dockActions.insert(action, dock);
    m_windowMenu->insertAction(m_docksEnd, action);
    action->setVisible(!dock->page());
    if (dock->objectName() == QLatin1String("engineLog")) {
        action->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+L")));
        action->setProperty("iconName", QStringLiteral("logs"));
    }
}

void WindowActions::setCurrentPage(Page *page)
{
    for (const PageAction &old : m_pageActions.value(m_current))
        m_menus[old.menu]->removeAction(
            old.action); // its shortcut sleeps: other pages may have the same keys
    m_current = page;
    for (const PageAction &own : m_pageActions.value(page))
        m_menus[own.menu]->insertAction(m_pageActionsEnd[own.menu], own.action);
    for (QAction *action : m_pageGroup->actions())
        action->setChecked(action->property("page").value<QObject *>() == page);
    for (auto it = m_dockActions.begin(); it != m_dockActions.end(); ++it)
        it.key()->setVisible(!it.value()->page() || it.value()->page() == page || it.value()->isPinned());
    hideEmptyMenus();
}

/// Only what exists: a menu with nothing but separators is not shown.
void WindowActions::hideEmptyMenus()
{
    for (QMenu *menu : std::as_const(m_menus)) {
        bool hasAny = false;
        for (const QAction *action : menu->actions())
            hasAny = hasAny || (!action->isSeparator() && action->isVisible());
        menu->menuAction()->setVisible(hasAny);
    }
}

void WindowActions::collect(const QMenu *menu, QList<Command> &found) const
{
    for (QAction *action : menu->actions()) {
        if (action->menu())
            collect(action->menu(), found);
        if (action->isSeparator() || !action->isVisible() || action->menu())
            continue;
        if (action->property("page").isValid()
            || action->shortcut() == QKeySequence(QStringLiteral("Ctrl+K")))
            continue; // pages come first, with their own words; the field need not find itself
        const bool isTarget = action->actionGroup() == m_targetGroup;
        found.append({plain(action->text()), isTarget ? tr("Target") : plain(menu->title()),
                      action->shortcut().toString(QKeySequence::NativeText),
                      action->property("iconName").toString(), action->isEnabled(),
                      action->isEnabled() ? QString() : action->toolTip(),
                      [action = QPointer<QAction>(action)] {
                          if (action)
                              action->trigger();
                      }});
    }
}

QList<Command> WindowActions::commands() const
{
    QList<Command> found;
    for (Page *page : m_pages.pages()) {
        auto *self = const_cast<WindowActions *>(this);
        found.append({page->traits().title,
                      tr("Page"),
                      tr("Ctrl+%1").arg(page->traits().shortcut),
                      page->traits().iconName,
                      true,
                      {},
                      [self, page] { emit self->pageWanted(page); }});
        if (page == m_current)
            continue;
        // What another page can do: go there, then do it.
        for (const PageAction &other : m_pageActions.value(page))
            found.append({plain(other.action->text()),
                          page->traits().title,
                          other.action->shortcut().toString(QKeySequence::NativeText),
                          page->traits().iconName,
                          other.action->isEnabled(),
                          {},
                          [self, page, action = QPointer<QAction>(other.action)] {
                              emit self->pageWanted(page);
                              if (action)
                                  action->trigger();
                          }});
    }
    for (const QMenu *menu : {m_menus[MenuId::Edit], m_menus[MenuId::View], m_menus[MenuId::Target],
                              m_menus[MenuId::Tools], m_windowMenu, m_menus[MenuId::File], m_helpMenu})
        collect(menu, found);
    return found;
}

} // namespace ui
