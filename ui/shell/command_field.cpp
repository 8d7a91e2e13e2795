#include "ui/shell/command_field.h"

#include "ui/shell/fuzzy_match.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QApplication>
#include <QFrame>
#include <QKeyEvent>
#include <QLabel>
#include <QListView>
#include <QPainter>
#include <QPointer>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

namespace ui {

namespace {
constexpr int FieldWidth = 272;
constexpr int FieldHeight = 24;
constexpr int PopupWidth = 460;
constexpr int RowHeight = 30;
constexpr int MaxRows = 12;
enum CommandRole { PlaceRole = Qt::UserRole + 1, ShortcutRole, IconRole };
} // namespace

class CommandField::Model : public QAbstractListModel
{
public:
    using QAbstractListModel::QAbstractListModel;

    void setCommands(QList<Command> commands) { m_commands = std::move(commands); }

    void filter(const QString &typed)
    {
        struct Found
        {
            int score;
            qsizetype place;
        };
        QList<Found> found;
        for (qsizetype i = 0; i < m_commands.size(); ++i) {
            const Command &command = m_commands[i];
            const auto title = fuzzyScore(typed, command.title);
            const auto both = fuzzyScore(typed, QString(command.place + u' ' + command.title));
            if (!title && !both)
                continue;
            // What stands in the title is nearer than what needs the place's name; in one piece, nearer
            // still.
            const bool isPiece = !typed.isEmpty() && command.title.contains(typed, Qt::CaseInsensitive);
            found.append({qMax(title.value_or(-1) + 8, both.value_or(-1)) + (isPiece ? 1000 : 0)
                              - (command.isEnabled ? 0 : 100),
                          i});
        }
        std::stable_sort(found.begin(), found.end(),
                         [](const Found &a, const Found &b) { return a.score > b.score; });
        beginResetModel();
        m_shown.clear();
        for (const Found &one : found)
            m_shown.append(one.place);
        endResetModel();
    }

    [[nodiscard]] const Command &command(int row) const { return m_commands.at(m_shown.at(row)); }
    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override
    {
        return parent.isValid() ? 0 : int(m_shown.size());
    }
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex &index) const override
    {
        if (!index.isValid())
            return Qt::NoItemFlags;
        const bool isEnabled = command(index.row()).isEnabled;
        return Qt::ItemIsSelectable | Qt::ItemNeverHasChildren
            | (isEnabled ? Qt::ItemIsEnabled : Qt::NoItemFlags);
    }
    [[nodiscard]] QVariant data(const QModelIndex &index, int role) const override
    {
        if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid))
            return {};
        const Command &shown = command(index.row());
        switch (role) {
        case Qt::DisplayRole:
            return shown.title;
        case Qt::AccessibleTextRole:
            return QStringList{shown.title, shown.place, shown.shortcut}.join(QStringLiteral(", "));
        case Qt::ToolTipRole:
            return shown.reason;
        case PlaceRole:
            return shown.isEnabled || shown.reason.isEmpty() ? shown.place : shown.reason;
        case ShortcutRole:
            return shown.shortcut;
        case IconRole:
            return shown.iconName;
        default:
            return {};
        }
    }

private:
    QList<Command> m_commands;
    QList<qsizetype> m_shown;
};

class CommandField::Delegate : public QStyledItemDelegate
{
public:
    Delegate(const Theme &theme, QObject *parent) : QStyledItemDelegate(parent), m_theme(theme) {}

    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &, const QModelIndex &) const override
    {
        return {PopupWidth - 16, RowHeight};
    }

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override
    {
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const bool isEnabled = option.state & QStyle::State_Enabled;
        const bool isChosen = isEnabled && option.state & QStyle::State_Selected;
        if (isChosen) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(m_theme.color(QStringLiteral("bg.selected")));
            painter->drawRoundedRect(option.rect, 4, 4);
        }
        const auto place
            = [&](const QRect &rect) { return QStyle::visualRect(option.direction, option.rect, rect); };
        QRect room = option.rect.adjusted(8, 0, -8, 0);
        const QString icon = index.data(IconRole).toString();
        if (!icon.isEmpty())
            m_theme.icon(icon).paint(painter, place({room.left(), room.center().y() - 7, 15, 15}));
        room.adjust(24, 0, 0, 0);
        painter->setFont(m_theme.font(Theme::FontRole::Caption));
        painter->setPen(m_theme.color(isChosen ? QStringLiteral("text.2") : QStringLiteral("text.3")));
        const QString end = QStringList{index.data(PlaceRole).toString(), index.data(ShortcutRole).toString()}
                                .join(QStringLiteral("   "))
                                .trimmed();
        const int endWidth = painter->fontMetrics().horizontalAdvance(end) + 2;
        painter->drawText(place(QRect(room.right() - endWidth, room.top(), endWidth, room.height())),
                          int(Qt::AlignVCenter | Qt::AlignRight), end);
        room.setRight(room.right() - endWidth - 8);
        painter->setFont(m_theme.font(Theme::FontRole::Body));
        painter->setPen(m_theme.color(isEnabled ? QStringLiteral("text") : QStringLiteral("text.disabled")));
        painter->drawText(
            place(room), int(Qt::AlignVCenter | Qt::AlignLeading),
            painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room.width()));
        painter->restore();
    }

private:
    const Theme &m_theme;
};

CommandField::CommandField(const Theme &theme, std::function<QList<Command>()> commands, QWidget *parent)
    : QLineEdit(parent), m_theme(theme), m_commands(std::move(commands)), m_model(new Model(this)),
      m_hint(new QLabel(tr("Ctrl+K"), this)), m_searchIcon(addAction(QIcon(), LeadingPosition))
{
    setPlaceholderText(tr("Search or run a command"));
    setAccessibleName(tr("Command field"));
    setProperty("command", true);
    setFocusPolicy(Qt::ClickFocus); // Tab stays in the page; Ctrl+K comes here
    setFixedSize(FieldWidth, FieldHeight);
    m_hint->setProperty("role", QStringLiteral("caption"));
    m_hint->setAttribute(Qt::WA_TransparentForMouseEvents);
    setTextMargins(0, 0, 44, 0);
    connect(this, &QLineEdit::textEdited, this, [this] {
        showList();
        filter();
    });
    connect(&theme, &Theme::changed, this, &CommandField::updateIcons);
    updateIcons();
}

// The menu bar asks for the hint and not for the fixed size.
QSize CommandField::sizeHint() const
{
    return {FieldWidth, FieldHeight};
}

void CommandField::updateIcons()
{
    m_searchIcon->setIcon(m_theme.icon(QStringLiteral("search")));
}

bool CommandField::isOpen() const
{
    return m_popup && m_popup->isVisible();
}

void CommandField::open()
{
    if (!hasFocus())
        m_before = window()->focusWidget();
    setFocus(Qt::ShortcutFocusReason);
    selectAll();
    showList();
}

// Made when it is first needed: start-up does not pay for it.
void CommandField::showList()
{
    if (isOpen())
        return;
    if (!m_popup) {
        m_popup = new QFrame(window());
        m_popup->setProperty("popup", true);
        m_list = new QListView(m_popup);
        m_list->setModel(m_model);
        m_list->setItemDelegate(new Delegate(m_theme, m_list));
        m_list->setAccessibleName(tr("Commands"));
        m_list->setFrameShape(QFrame::NoFrame);
        m_list->setProperty("navigation", true);
        m_list->setFocusPolicy(Qt::NoFocus);
        m_list->setUniformItemSizes(true);
        m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        auto *layout = new QVBoxLayout(m_popup);
        layout->setContentsMargins(6, 6, 6, 6);
        layout->addWidget(m_list);
        connect(m_list, &QListView::clicked, this, [this] { runCurrent(); });
    }
    m_model->setCommands(m_commands());
    filter();
    const QPoint corner = mapTo(window(), QPoint(width() - PopupWidth, height() + 2));
    m_popup->setGeometry(qMax(8, corner.x() - 4), corner.y(), PopupWidth, MaxRows * RowHeight + 14);
    m_popup->raise();
    m_popup->show();
}

void CommandField::filter()
{
    if (!m_list)
        return;
    m_model->filter(text());
    if (m_model->rowCount() > 0)
        m_list->setCurrentIndex(m_model->index(0));
    m_popup->resize(PopupWidth, qBound(1, m_model->rowCount(), MaxRows) * RowHeight + 14);
}

void CommandField::closeList()
{
    if (m_popup)
        m_popup->hide();
    clear();
}

void CommandField::move(int rows)
{
    if (!isOpen() || m_model->rowCount() == 0)
        return;
    const int count = m_model->rowCount();
    const int row = (m_list->currentIndex().row() + rows % count + count) % count;
    m_list->setCurrentIndex(m_model->index(row));
}

void CommandField::runCurrent()
{
    const QModelIndex current = m_list ? m_list->currentIndex() : QModelIndex();
    if (!current.isValid() || !m_model->command(current.row()).isEnabled)
        return;
    const auto run = m_model->command(current.row()).run; // a copy: running may change the list
    const QPointer<QWidget> before = m_before;
    closeList();
    // Back first, so that an action that wants the keyboard elsewhere has the last word.
    if (before)
        before->setFocus(Qt::OtherFocusReason);
    else
        clearFocus();
    if (run)
        run();
}

void CommandField::keyPressEvent(QKeyEvent *event)
{
    switch (event->key()) {
    case Qt::Key_Down:
        showList();
        move(1);
        return;
    case Qt::Key_Up:
        move(-1);
        return;
    case Qt::Key_PageDown:
        if (isOpen())
            move(qMin(MaxRows, m_model->rowCount() - 1 - m_list->currentIndex().row()));
        return;
    case Qt::Key_PageUp:
        if (isOpen())
            move(-qMin(MaxRows, m_list->currentIndex().row()));
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (isOpen())
            runCurrent();
        return;
    case Qt::Key_Escape: {
        const QPointer<QWidget> before = m_before;
        closeList();
        if (before)
            before->setFocus(Qt::OtherFocusReason);
        else
            clearFocus();
        return;
    }
    default:
        QLineEdit::keyPressEvent(event);
    }
}

void CommandField::focusOutEvent(QFocusEvent *event)
{
    QLineEdit::focusOutEvent(event);
    if (event->reason() != Qt::ActiveWindowFocusReason && event->reason() != Qt::PopupFocusReason)
        closeList();
}

void CommandField::mousePressEvent(QMouseEvent *event)
{
    QLineEdit::mousePressEvent(event);
    showList();
}

void CommandField::resizeEvent(QResizeEvent *event)
{
    QLineEdit::resizeEvent(event);
    const QSize hint = m_hint->sizeHint();
    m_hint->setGeometry(width() - hint.width() - 8, (height() - hint.height()) / 2, hint.width(),
                        hint.height());
}

} // namespace ui
