#pragma once

#include <QLineEdit>
#include <QPointer>
#include <functional>

class QAbstractListModel;
class QFrame;
class QLabel;
class QListView;

namespace ui {

class Theme;

/// Something the user can do, as the command field lists it.
struct Command
{
    QString title; ///< "Metrics", "Dark theme"
    QString place; ///< where it lives: "Page", "View", "Target"
    QString shortcut;
    QString iconName;
    bool isEnabled = true;
    QString reason; ///< why not, if it is not enabled
    std::function<void()> run;
};

/// The field in the corner of the menu bar (Ctrl+K): pages, targets, actions, found by a few letters and run
/// by Enter. The list hangs below the field inside the window, so that the keyboard never leaves the field.
/// Esc gives the keyboard back to where it was.
class CommandField : public QLineEdit
{
    Q_OBJECT

public:
    /// `commands` is asked each time the list opens.
    CommandField(const Theme &theme, std::function<QList<Command>()> commands, QWidget *parent = nullptr);

    /// Takes the keyboard and shows everything.
    void open();
    void closeList();
    [[nodiscard]] bool isOpen() const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QListView *listView() const { return m_list; }

protected:
    void keyPressEvent(QKeyEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    class Model;
    class Delegate;

    void showList();
    void filter();
    void move(int rows);
    void runCurrent();
    void updateIcons();

    const Theme &m_theme;
    std::function<QList<Command>()> m_commands;
    Model *m_model;
    QListView *m_list = nullptr;
    QFrame *m_popup = nullptr;
    QLabel *m_hint;
    QAction *m_searchIcon;
    QPointer<QWidget> m_before; // where the keyboard was
};

} // namespace ui
