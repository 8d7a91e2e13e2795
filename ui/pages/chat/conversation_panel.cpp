#include "ui/pages/chat/conversation_panel.h"

#include "models/chat/chat_controller.h"
#include "models/chat/chat_library.h"
#include "models/chat/conversation_list_model.h"
#include "ui/theme/theme.h"
#include "ui/widgets/icon_button.h"
#include <QHBoxLayout>
#include <QInputDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMessageBox>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace ui {

using models::ConversationListModel;

ConversationDelegate::ConversationDelegate(const Theme &theme, QObject *parent)
    : QStyledItemDelegate(parent), m_theme(theme)
{
}

QSize ConversationDelegate::sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const
{
    return {160, 50 * m_theme.zoom() / 100};
}

void ConversationDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option,
                                 const QModelIndex &index) const
{
    const bool isSelected = option.state & QStyle::State_Selected;
    const bool isFocused = option.state & QStyle::State_HasFocus;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(option.rect).adjusted(1, 1, -1, -1);
    if (isSelected || (option.state & QStyle::State_MouseOver)) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(
            m_theme.color(isSelected ? QStringLiteral("bg.selected") : QStringLiteral("bg.hover")));
        painter->drawRoundedRect(box, 4, 4);
    }
    if (isFocused) {
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(m_theme.color(QStringLiteral("focus")), 2));
        painter->drawRoundedRect(box, 4, 4);
    }
    const QRect text = option.rect.adjusted(10, 6, -10, -6);
    QFont title = m_theme.font(Theme::FontRole::Body);
    if (isSelected)
        title.setWeight(QFont::Medium);
    painter->setFont(title);
    painter->setPen(m_theme.color(QStringLiteral("text")));
    const Qt::Alignment side = QStyle::visualAlignment(option.direction, Qt::AlignLeft);
    painter->drawText(text, int(side | Qt::AlignTop),
                      QFontMetrics(title).elidedText(index.data(ConversationListModel::TitleRole).toString(),
                                                     Qt::ElideRight, text.width()));
    const QFont detail = m_theme.font(Theme::FontRole::Secondary);
    painter->setFont(detail);
    painter->setPen(m_theme.color(isSelected ? QStringLiteral("text.2") : QStringLiteral("text.3")));
    painter->drawText(
        text, int(side | Qt::AlignBottom),
        QFontMetrics(detail).elidedText(index.data(ConversationListModel::DetailRole).toString(),
                                        Qt::ElideRight, text.width()));
    painter->restore();
}

ConversationPanel::ConversationPanel(models::ChatController &controller, const Theme &theme, QWidget *parent)
    : QWidget(parent), m_controller(controller), m_newChat(new QPushButton(tr("New chat"))),
      m_searchButton(new IconButton(theme, QStringLiteral("search"), tr("Search conversations"))),
      m_search(new QLineEdit), m_list(new QListView), m_empty(new QLabel)
{
    m_newChat->setIcon(theme.icon(QStringLiteral("plus")));
    m_newChat->setObjectName(QStringLiteral("newChat"));
    m_search->setPlaceholderText(tr("Search titles and messages"));
    m_search->setAccessibleName(tr("Search text"));
    m_search->setClearButtonEnabled(true);
    m_search->hide();
    m_search->installEventFilter(this);
    m_list->setModel(controller.library().conversations());
    m_list->setItemDelegate(new ConversationDelegate(theme, m_list));
    m_list->setUniformItemSizes(true);
    m_list->setMouseTracking(true);
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setAccessibleName(tr("Conversations"));
    m_list->setObjectName(QStringLiteral("conversations"));
    m_list->setStyleSheet(
        QStringLiteral("QListView, QListView:focus { border: none; background: transparent; }"));
    m_list->installEventFilter(this);
    m_empty->setProperty("role", QStringLiteral("secondary"));
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeading);

    auto *head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(m_newChat, 1);
    head->addWidget(m_searchButton);
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(8);
    layout->addLayout(head);
    layout->addWidget(m_search);
    layout->addWidget(m_empty);
    layout->addWidget(m_list, 1);

    connect(&theme, &Theme::changed, this,
            [this, &theme] { m_newChat->setIcon(theme.icon(QStringLiteral("plus"))); });
    connect(m_newChat, &QPushButton::clicked, this, &ConversationPanel::newChatRequested);
    connect(m_searchButton, &QToolButton::clicked, this, &ConversationPanel::focusSearch);
    connect(m_search, &QLineEdit::textChanged, this,
            [this](const QString &text) { m_controller.library().search(text); });
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex &current) {
                if (current.isValid())
                    m_controller.openConversation(current.data(ConversationListModel::IdRole).toLongLong());
            });
    connect(&controller, &models::ChatController::conversationChanged, this, &ConversationPanel::showCurrent);
    auto *model = controller.library().conversations();
    for (const auto signal : {&QAbstractItemModel::modelReset})
        connect(model, signal, this, &ConversationPanel::showCurrent);
    connect(model, &QAbstractItemModel::rowsInserted, this, &ConversationPanel::updateEmptyText);
    connect(model, &QAbstractItemModel::rowsRemoved, this, &ConversationPanel::updateEmptyText);
    connect(&controller.library(), &models::ChatLibrary::searched, this, &ConversationPanel::updateEmptyText);
    updateEmptyText();
}

void ConversationPanel::updateEmptyText()
{
    auto *model = m_controller.library().conversations();
    m_empty->setText(model->isSearching() ? tr("Nothing found.") : tr("No conversations yet."));
    m_empty->setVisible(model->rowCount() == 0);
}

void ConversationPanel::showCurrent()
{
    updateEmptyText();
    const int row = m_controller.library().conversations()->rowOf(m_controller.conversationId());
    const QSignalBlocker blocker(m_list->selectionModel());
    if (row < 0)
        m_list->selectionModel()->clear();
    else
        m_list->setCurrentIndex(m_controller.library().conversations()->index(row));
    m_list->viewport()->update();
}

void ConversationPanel::focusSearch()
{
    m_search->show();
    m_search->setFocus();
    m_search->selectAll();
}

qint64 ConversationPanel::currentId() const
{
    const QModelIndex current = m_list->currentIndex();
    return current.isValid() ? current.data(ConversationListModel::IdRole).toLongLong() : 0;
}

void ConversationPanel::renameCurrent()
{
    const qint64 id = currentId();
    if (id == 0)
        return;
    bool isAccepted = false;
    const QString title
        = QInputDialog::getText(this, tr("Rename conversation"), tr("Title"), QLineEdit::Normal,
                                m_list->currentIndex().data().toString(), &isAccepted);
    if (isAccepted)
        m_controller.renameConversation(id, title);
}

void ConversationPanel::removeCurrent()
{
    const qint64 id = currentId();
    if (id == 0)
        return;
    const QString title = m_list->currentIndex().data().toString();
    QMessageBox box(
        QMessageBox::Warning, tr("Delete conversation"),
        tr("The conversation “%1” and all its versions are deleted. This can't be undone.").arg(title),
        QMessageBox::Cancel, this);
    QPushButton *remove = box.addButton(tr("Delete “%1”").arg(title.left(40)), QMessageBox::DestructiveRole);
    remove->setProperty("danger", true);
    box.setDefaultButton(QMessageBox::Cancel);
    box.exec();
    if (box.clickedButton() == remove)
        m_controller.removeConversation(id);
}

bool ConversationPanel::eventFilter(QObject *watched, QEvent *event)
{
    if (event->type() != QEvent::KeyPress)
        return QWidget::eventFilter(watched, event);
    const int key = static_cast<QKeyEvent *>(event)->key();
    if (watched == m_search && key == Qt::Key_Escape) {
        m_search->clear();
        m_search->hide();
        m_list->setFocus();
        return true;
    }
    if (watched == m_search && (key == Qt::Key_Down || key == Qt::Key_Return)) {
        m_list->setFocus();
        if (!m_list->currentIndex().isValid())
            m_list->setCurrentIndex(m_list->model()->index(0, 0));
        return true;
    }
    if (watched == m_list && key == Qt::Key_F2) {
        renameCurrent();
        return true;
    }
    if (watched == m_list && key == Qt::Key_Delete) {
        removeCurrent();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace ui
