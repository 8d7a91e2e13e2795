#include "ui/shell/main_window.h"

#include "models/engine/endpoint_list.h"
#include "models/engine/endpoint_probe.h"
#include "models/engine/local_engine.h"
#include "ui/shell/about_box.h"
#include "ui/shell/add_target_dialog.h"
#include "ui/shell/command_field.h"
#include "ui/shell/dock.h"
#include "ui/shell/dock_set.h"
#include "ui/shell/engine_banner.h"
#include "ui/shell/engine_log_panel.h"
#include "ui/shell/help_box.h"
#include "ui/shell/navigation_panel.h"
#include "ui/shell/page.h"
#include "ui/shell/status_bar.h"
#include "ui/shell/target_model.h"
#include "ui/shell/window_actions.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/log_view.h"
#include "ui/widgets/state_label.h"

#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QListView>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <QVBoxLayout>

namespace ui {

namespace {

// Names in the settings file, and the number of the layout that saveState() writes: raise it when docks
// change places.
const QString GeometryKey = QStringLiteral("window/geometry");
const QString StateKey = QStringLiteral("window/state");
const QString PageKey = QStringLiteral("window/page");
const QString NarrowKey = QStringLiteral("window/narrowNavigation");
constexpr int StateVersion = 1;

constexpr QSize FirstSize(1440, 900);
constexpr QSize SmallestSize(1100, 700);
constexpr int NarrowBelow = 1200;

} // namespace

MainWindow::MainWindow(const WindowServices &services)
    : m_services(services), m_targets(new TargetModel(services.theme, services.endpoints, this)),
      m_actions(new WindowActions(services.theme, services.endpoints, services.engine, m_pages, *this))
{
    setWindowTitle(QStringLiteral("Slipway"));
    setMinimumSize(SmallestSize);
    resize(FirstSize);
    setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
    setUpMenuBar();
    setUpToolBar();
    setUpNavigation();
    setUpPages();
    setUpDocks();
    setUpStatusBar();
    updateTarget();
}

MainWindow::~MainWindow() = default;

void MainWindow::setUpMenuBar()
{
    m_commandField = new CommandField(m_services.theme, [this] { return m_actions->commands(); });
    menuBar()->setCornerWidget(m_commandField, Qt::TopRightCorner);
    connect(m_actions, &WindowActions::pageWanted, this, &MainWindow::showPage);
    connect(m_actions, &WindowActions::commandFieldWanted, m_commandField, &CommandField::open);
    connect(m_actions, &WindowActions::areaWanted, this, &MainWindow::goToArea);
    connect(m_actions, &WindowActions::addTargetWanted, this, &MainWindow::addTarget);
    connect(m_actions, &WindowActions::removeTargetWanted, this, &MainWindow::removeTarget);
    connect(m_actions, &WindowActions::layoutResetWanted, this, &MainWindow::resetLayout);
    connect(m_actions, &WindowActions::helpWanted, this,
            [this] { showHelp(m_actions->commands(), QApplication::focusWidget(), this); });
    connect(m_actions, &WindowActions::aboutWanted, this, [this] { showAbout(this); });
    connect(m_actions, &WindowActions::quitWanted, this, &QWidget::close);
    connect(m_actions, &WindowActions::navigationToggled, this, [this] {
        m_isNavigationNarrow = !m_isNavigationNarrow;
        updateNarrow();
    });
    connect(m_actions, &WindowActions::refreshWanted, this, [this] {
        m_services.probe.probeNow();
        if (currentPage())
            currentPage()->refresh();
    });
}

void MainWindow::setUpToolBar()
{
    m_toolBar = addToolBar(tr("Main toolbar"));
    m_toolBar->setObjectName(QStringLiteral("mainToolBar"));
    m_toolBar->setMovable(false);
    m_toolBar->setContextMenuPolicy(Qt::PreventContextMenu);
    m_targetBox = new QComboBox;
    m_targetBox->setModel(m_targets);
    m_targetBox->setFixedWidth(222);
    m_targetBox->setIconSize({14, 14});
    m_targetBox->setToolTip(tr("Target"));
    m_targetBox->setAccessibleDescription(tr("The target that all pages work with"));
    connect(m_targetBox, &QComboBox::activated, &m_services.endpoints, &models::EndpointList::setCurrentRow);
    m_refresh = new IconButton(m_services.theme, QStringLiteral("refresh"), tr("Refresh (F5)"));
    m_refresh->setProperty("flat", false);
    connect(m_refresh, &QToolButton::clicked, m_actions, &WindowActions::refreshWanted);
    m_targetState = new StateLabel(m_services.theme);
    auto *space = new QWidget;
    space->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    space->setFixedWidth(8);
    m_toolBar->addWidget(m_targetBox);
    m_toolBar->addWidget(m_refresh);
    m_toolBar->addWidget(space);
    m_toolBar->addWidget(m_targetState);
}

void MainWindow::setUpNavigation()
{
    m_navigation = new NavigationPanel(m_services.theme, m_pages, *m_targets);
    addToolBar(Qt::LeftToolBarArea, new NavigationBar(m_navigation, this));
    connect(m_navigation, &NavigationPanel::pageChosen, this, [this](int row) {
        if (row >= 0)
            showPage(m_pages.page(row));
    });
    connect(m_navigation, &NavigationPanel::targetChosen, &m_services.endpoints,
            &models::EndpointList::setCurrentRow);
}

void MainWindow::setUpPages()
{
    auto *center = new QWidget;
    m_banner = new Banner(m_services.theme);
    m_stack = new QStackedWidget;
    m_warning = new Banner(m_services.theme);
    auto *bannerRoom = new QVBoxLayout;
    bannerRoom->setSpacing(8);
    const auto updateRoom = [this, bannerRoom] {
        const bool isShown = !m_banner->isHidden() || !m_warning->isHidden();
        bannerRoom->setContentsMargins(16, isShown ? 12 : 0, 16, isShown ? 4 : 0);
    };
    for (Banner *banner : {m_banner, m_warning}) {
        bannerRoom->addWidget(banner);
        connect(banner, &Banner::shownChanged, this, updateRoom);
    }
    updateRoom();
    auto *layout = new QVBoxLayout(center);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addLayout(bannerRoom);
    layout->addWidget(m_stack, 1);
    setCentralWidget(center);
}

void MainWindow::setUpDocks()
{
    m_docks = new DockSet(m_services.theme, *this);
    auto *log = new EngineLogPanel(m_services.theme, m_services.engine, m_services.engineLog);
    m_logDock = m_docks->add(
        {QStringLiteral("engineLog"), tr("Engine log"), log, Qt::BottomDockWidgetArea, 220}, nullptr);
    m_logDock->setWanted(false);
    m_actions->addDock(m_logDock);
    new EngineBanner(
        *m_banner, m_services.endpoints, m_services.engine, m_services.engineLog, m_services.pull,
        [this] { showLog(); }, this);
}

void MainWindow::setUpStatusBar()
{
    m_status = new StatusBar(m_services.theme, QCoreApplication::applicationVersion());
    setStatusBar(m_status);
    connect(&m_services.probe, &models::EndpointProbe::delayChanged, this,
            [this] { m_status->setApiDelay(m_services.probe.delay()); });
    connect(&m_services.endpoints, &models::EndpointList::currentChanged, this, &MainWindow::updateTarget);
    connect(&m_services.endpoints, &QAbstractItemModel::dataChanged, this, &MainWindow::updateTarget);
}

void MainWindow::updateTarget()
{
    const int row = m_services.endpoints.currentRow();
    m_targetBox->setCurrentIndex(row);
    const QModelIndex index = m_targets->index(row, 0);
    const auto state = static_cast<State>(index.data(StateMarkRole).toInt());
    const QString word = index.data(StateWordRole).toString();
    const QString why = index.data(models::EndpointList::StateTextRole).toString();
    const QString name = index.data().toString();
    m_targetState->setState(state, state == State::Run && !why.isEmpty() ? why : word, why);
    m_status->setConnection(state, tr("%1 · %2").arg(state == State::Ok ? tr("Connected") : word, name), why);
}

void MainWindow::addPage(Page *page)
{
    m_pages.addPage(page);
    m_stack->addWidget(page);
    m_actions->addPage(page);
    for (const PageDock &wanted : page->docks())
        m_actions->addDock(m_docks->add(wanted, page));
    connect(page, &Page::statusTextChanged, this, [this, page] {
        if (page == currentPage())
            m_status->setPageText(page->statusText());
    });
    connect(page, &Page::metricsAgeChanged, m_status, &StatusBar::setMetricsAge);
    if (m_pages.rowCount() == 1)
        showPage(page);
}

Page *MainWindow::currentPage() const
{
    return static_cast<Page *>(m_stack->currentWidget());
}

void MainWindow::showPage(Page *page)
{
    const bool hadKeyboard = m_navigation->pagesView()->hasFocus();
    m_stack->setCurrentWidget(page);
    m_navigation->setCurrentPage(m_pages.rowOf(page));
    m_actions->setCurrentPage(page);
    m_docks->setCurrentPage(page);
    m_status->setPageText(page->statusText());
    setWindowTitle(tr("%1 – Slipway").arg(page->traits().title));
    if (!hadKeyboard) // who walks through the navigation stays in it
        page->startWidget()->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::showWarning(const QString &what, const QString &cause)
{
    m_warning->showText({State::Warn, what, cause, {}}, {{tr("Dismiss"), [this] { m_warning->dismiss(); }}});
}

void MainWindow::showLog()
{
    m_logDock->setWanted(true);
    m_logDock->raise();
}

void MainWindow::addTarget()
{
    AddTargetDialog(m_services.theme, m_services.endpoints, this).exec();
}

void MainWindow::removeTarget()
{
    const models::Endpoint target = m_services.endpoints.current();
    QMessageBox box(QMessageBox::Question, tr("Remove target"),
                    tr("Remove %1 from the targets?").arg(target.name), QMessageBox::Cancel, this);
    box.setInformativeText(tr("Its URL %1 and its API key are forgotten. The server itself is not touched.")
                               .arg(target.baseUrl.toDisplayString()));
    auto *remove = box.addButton(tr("Remove %1").arg(target.name), QMessageBox::DestructiveRole);
    remove->setProperty("danger", true);
    box.setDefaultButton(QMessageBox::Cancel);
    box.exec();
    if (box.clickedButton() == remove)
        m_services.endpoints.remove(m_services.endpoints.rowOf(target.id));
}

void MainWindow::focusArea(QWidget *area)
{
    if (area->focusPolicy() & Qt::TabFocus) {
        area->setFocus(Qt::TabFocusReason);
        return;
    }
    for (QWidget *next = area->nextInFocusChain(); next != area; next = next->nextInFocusChain()) {
        const bool takesTab = (next->focusPolicy() & Qt::TabFocus) && next->isVisible() && next->isEnabled();
        if (takesTab && area->isAncestorOf(next)) {
            next->setFocus(Qt::TabFocusReason);
            return;
        }
    }
}

void MainWindow::goToArea(int step)
{
    struct Area
    {
        QWidget *whole;
        QWidget *start;
    };
    QList<Area> areas{{m_toolBar, m_targetBox}, {m_navigation, m_navigation->pagesView()}};
    if (currentPage())
        areas.append({currentPage(), currentPage()->startWidget()});
    for (Dock *dock : m_docks->docks())
        if (dock->isVisible() && !dock->visibleRegion().isEmpty())
            areas.append({dock, dock->widget()});
    const QWidget *focused = QApplication::focusWidget();
    int current = -1;
    for (int i = 0; i < areas.size(); ++i)
        if (focused && (areas[i].whole == focused || areas[i].whole->isAncestorOf(focused)))
            current = i;
    const int count = int(areas.size());
    const int next = current < 0 ? (step > 0 ? 0 : count - 1) : (current + step + count) % count;
    focusArea(areas[next].start);
}

void MainWindow::keyPressEvent(QKeyEvent *event)
{
    if (event->key() == Qt::Key_Escape && currentPage() && currentPage()->stop())
        return;
    QMainWindow::keyPressEvent(event);
}

void MainWindow::updateNarrow()
{
    const bool isNarrow = width() < NarrowBelow;
    m_navigation->setCompact(m_isNavigationNarrow || isNarrow);
    m_docks->setTabbed(isNarrow);
}

void MainWindow::resizeEvent(QResizeEvent *event)
{
    QMainWindow::resizeEvent(event);
    updateNarrow();
}

void MainWindow::resetLayout()
{
    m_isNavigationNarrow = false;
    m_docks->reset();
    m_docks->setCurrentPage(currentPage());
    updateNarrow();
}

void MainWindow::restoreLayout()
{
    const QSettings &settings = m_services.settings;
    restoreGeometry(settings.value(GeometryKey).toByteArray());
    restoreState(settings.value(StateKey).toByteArray(), StateVersion);
    m_isNavigationNarrow = settings.value(NarrowKey).toBool();
    m_docks->restore(settings);
    m_docks->setCurrentPage(currentPage());
    for (Page *page : pages())
        if (page->traits().id == settings.value(PageKey).toString())
            showPage(page);
    updateNarrow();
}

void MainWindow::saveLayout()
{
    QSettings &settings = m_services.settings;
    settings.setValue(GeometryKey, saveGeometry());
    settings.setValue(StateKey, saveState(StateVersion));
    settings.setValue(NarrowKey, m_isNavigationNarrow);
    if (currentPage())
        settings.setValue(PageKey, currentPage()->traits().id);
    m_docks->save(settings);
}

void MainWindow::closeEvent(QCloseEvent *event)
{
    saveLayout();
    QMainWindow::closeEvent(event);
}

} // namespace ui
