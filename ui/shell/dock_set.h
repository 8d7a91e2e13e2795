#pragma once

#include "ui/shell/page.h"

#include <QList>
#include <QObject>

class QMainWindow;
class QSettings;

namespace ui {

class Dock;
class Theme;

/// The docks of the window: makes them, shows those of the current page, keeps what the user chose.
class DockSet : public QObject
{
    Q_OBJECT

public:
    DockSet(const Theme &theme, QMainWindow &window);

    /// `page` null: the window's own. The widget goes into a dock, which owns it.
    Dock *add(const PageDock &wanted, Page *page);
    void setCurrentPage(const Page *page);
    [[nodiscard]] const QList<Dock *> &docks() const { return m_docks; }

    /// Which docks the user wants and has pinned; places and sizes are in QMainWindow::saveState().
    void save(QSettings &settings) const;
    void restore(const QSettings &settings);
    void reset(); ///< all wanted, in their first places
    /// In a narrow window the docks of one edge share it as tabs; in a wide one they stand side by side
    /// again.
    void setTabbed(bool tabbed);

private:
    void place(Dock *dock, const PageDock &wanted);

    const Theme &m_theme;
    QMainWindow &m_window;
    QList<Dock *> m_docks;
    QList<PageDock> m_wanted; // as they came, for reset()
    QList<Dock *> m_tabbed; // what setTabbed() put behind another
    bool m_isTabbed = false;
};

} // namespace ui
