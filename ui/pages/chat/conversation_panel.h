#pragma once

#include <QStyledItemDelegate>
#include <QWidget>

class QLabel;
class QLineEdit;
class QListView;
class QPushButton;

namespace models {
class ChatController;
}

namespace ui {

class IconButton;
class Theme;

/// Two lines a row: title, and when and how long, or the place a search found.
class ConversationDelegate : public QStyledItemDelegate
{
    Q_OBJECT

public:
    explicit ConversationDelegate(const Theme &theme, QObject *parent = nullptr);
    void paint(QPainter *painter, const QStyleOptionViewItem &option,
               const QModelIndex &index) const override;
    QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &index) const override;

private:
    const Theme &m_theme;
};

/// The list of conversations with New chat and search. F2 renames, Delete asks and deletes.
class ConversationPanel : public QWidget
{
    Q_OBJECT

public:
    ConversationPanel(models::ChatController &controller, const Theme &theme, QWidget *parent = nullptr);

    void focusSearch();
    void renameCurrent();
    void removeCurrent();
    [[nodiscard]] QListView *list() const { return m_list; }

signals:
    void newChatRequested();

protected:
    bool eventFilter(QObject *watched, QEvent *event) override;

private:
    void showCurrent();
    void updateEmptyText();
    [[nodiscard]] qint64 currentId() const;

    models::ChatController &m_controller;
    QPushButton *m_newChat;
    IconButton *m_searchButton;
    QLineEdit *m_search;
    QListView *m_list;
    QLabel *m_empty;
};

} // namespace ui
