#pragma once

#include "ui/widgets/state.h"

#include <QAction>
#include <QList>
#include <QWidget>

namespace ui {

/// Where an action of a page is listed. The command field (Ctrl+K) finds it by its text in any case.
enum class MenuId { File, Edit, View, Target, Tools };

struct PageAction
{
    QAction *action = nullptr; ///< Owned by the page. Its shortcut works while the page is the current one.
    MenuId menu = MenuId::Edit;
};

struct PageDock
{
    QString id; ///< For the saved layout: never change it, never translate it.
    QString title;
    QWidget *widget = nullptr; ///< The shell puts it into a dock, which owns it.
    Qt::DockWidgetArea area = Qt::RightDockWidgetArea;
    int width = 284; ///< Pixels, 264 to 342.
};

struct PageTraits
{
    QString id; ///< For the saved layout: never change it, never translate it.
    QString title;
    QString iconName; ///< As Theme::icon() takes it.
    int shortcut
        = 0; ///< Ctrl+1 to Ctrl+9, Ctrl+0; the design gives each page its number (Metrics 4, Chat 5).
};

/// One row of the navigation and the widget it shows. Made in app/, handed to the shell, which owns it from
/// then on. A page knows the shell only through this class.
class Page : public QWidget
{
    Q_OBJECT

public:
    explicit Page(PageTraits traits, QWidget *parent = nullptr);

    [[nodiscard]] const PageTraits &traits() const { return m_traits; }

    /// Asked once, when the page is added.
    [[nodiscard]] virtual QList<PageDock> docks() { return {}; }
    [[nodiscard]] virtual QList<PageAction> actions() { return {}; }

    /// F5. While the page is the current one.
    virtual void refresh() {}
    /// Esc, when no popup took it: stop the running stream. False: nothing was running.
    virtual bool stop() { return false; }
    /// The widget that gets the keyboard when the user comes to the page (Ctrl+number, F6).
    [[nodiscard]] virtual QWidget *startWidget() { return this; }

    /// Shown in the navigation in place of the shortcut, and in the status bar while the page is the current
    /// one.
    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] const QString &stateText() const { return m_stateText; }
    [[nodiscard]] const QString &statusText() const { return m_statusText; }

signals:
    void stateChanged();
    void statusTextChanged();
    /// The age of the newest metrics changed: for the status bar. Negative: none yet.
    void metricsAgeChanged(int seconds);

protected:
    /// State::None takes the mark away. `text` is the word beside the shape ("Streaming").
    void setState(State state, const QString &text = {});
    /// A short phrase for the status bar ("Streaming, 89 tok/s"); empty takes it away.
    void setStatusText(const QString &text);

private:
    PageTraits m_traits;
    State m_state = State::None;
    QString m_stateText;
    QString m_statusText;
};

} // namespace ui
