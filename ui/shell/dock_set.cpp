#include "ui/shell/dock_set.h"

#include "ui/shell/dock.h"

#include <QHash>
#include <QMainWindow>
#include <QSettings>

namespace ui {

namespace {

constexpr int SmallestSideWidth = 264;

QString keyOf(const Dock *dock, const char *what)
{
    return QStringLiteral("window/docks/%1/%2").arg(dock->objectName(), QLatin1String(what));
}

} // namespace

DockSet::DockSet(const Theme &theme, QMainWindow &window) : QObject(&window), m_theme(theme), m_window(window)
{
}

Dock *DockSet::add(const PageDock &wanted, Page *page)
{
    auto *dock = new Dock(m_theme, wanted.id, wanted.title, page, &m_window);
    if (wanted.area == Qt::LeftDockWidgetArea || wanted.area == Qt::RightDockWidgetArea)
        wanted.widget->setMinimumWidth(SmallestSideWidth);
    dock->setWidget(wanted.widget);
    m_docks.append(dock);
    m_wanted.append(wanted);
    place(dock, wanted);
    return dock;
}

void DockSet::place(Dock *dock, const PageDock &wanted)
{
    m_window.addDockWidget(wanted.area, dock);
    const bool isSide = wanted.area == Qt::LeftDockWidgetArea || wanted.area == Qt::RightDockWidgetArea;
    m_window.resizeDocks({dock}, {wanted.width}, isSide ? Qt::Horizontal : Qt::Vertical);
}

void DockSet::setTabbed(bool tabbed)
{
    if (tabbed == m_isTabbed)
        return;
    m_isTabbed = tabbed;
    if (!tabbed) {
        for (Dock *dock : std::exchange(m_tabbed, {})) {
            const auto others = m_window.tabifiedDockWidgets(dock);
            if (dock->isFloating() || others.isEmpty())
                continue; // the user has put it elsewhere since
            const Qt::DockWidgetArea area = m_window.dockWidgetArea(dock);
            const bool isShown = dock->isVisibleTo(&m_window);
            m_window.removeDockWidget(dock);
            m_window.addDockWidget(area, dock);
            dock->setVisible(isShown);
        }
        return;
    }
    QHash<Qt::DockWidgetArea, Dock *> first;
    for (Dock *dock : std::as_const(m_docks)) {
        if (dock->isFloating())
            continue;
        Dock *&front = first[m_window.dockWidgetArea(dock)];
        if (front && !m_window.tabifiedDockWidgets(front).contains(dock)) {
            m_window.tabifyDockWidget(front, dock);
            m_tabbed.append(dock);
        } else if (!front) {
            front = dock;
        }
    }
}

void DockSet::setCurrentPage(const Page *page)
{
    for (Dock *dock : m_docks)
        dock->setCurrentPage(page);
}

void DockSet::save(QSettings &settings) const
{
    for (const Dock *dock : m_docks) {
        settings.setValue(keyOf(dock, "wanted"), dock->isWanted());
        settings.setValue(keyOf(dock, "pinned"), dock->isPinned());
    }
}

void DockSet::restore(const QSettings &settings)
{
    for (Dock *dock : m_docks) {
        dock->setPinned(settings.value(keyOf(dock, "pinned"), false).toBool());
        dock->setWanted(settings.value(keyOf(dock, "wanted"), dock->isWanted()).toBool());
    }
}

void DockSet::reset()
{
    for (qsizetype i = 0; i < m_docks.size(); ++i) {
        m_docks[i]->setFloating(false);
        place(m_docks[i], m_wanted[i]);
        m_docks[i]->setPinned(false);
        m_docks[i]->setWanted(m_docks[i]->page() != nullptr); // the log comes when it is asked for
    }
}

} // namespace ui
