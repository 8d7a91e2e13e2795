#include "ui/shell/dock_set.h"

#include "ui/shell/dock.h"

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
    // Docks of one edge share it as tabs: at the smallest window there is no room for two of them.
    for (Dock *other : m_docks)
        if (other != dock && m_window.dockWidgetArea(other) == wanted.area && !other->isFloating())
            m_window.tabifyDockWidget(other, dock);
    const bool isSide = wanted.area == Qt::LeftDockWidgetArea || wanted.area == Qt::RightDockWidgetArea;
    m_window.resizeDocks({dock}, {wanted.width}, isSide ? Qt::Horizontal : Qt::Vertical);
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
