#include "ui/shell/navigation_panel.h"

#include "ui/shell/navigation_delegate.h"
#include "ui/shell/navigation_model.h"
#include "ui/theme/theme.h"

#include <QEvent>
#include <QLabel>
#include <QLayout>
#include <QListView>
#include <QPainter>
#include <QVBoxLayout>

namespace ui {

namespace {
constexpr int WideWidth = 196;
constexpr int CompactWidth = 48;
} // namespace

NavigationPanel::NavigationPanel(const Theme &theme, NavigationModel &pages, QAbstractItemModel &targets,
                                 QWidget *parent)
    : QWidget(parent), m_theme(theme),
      m_pageDelegate(new NavigationDelegate(theme, NavigationDelegate::Kind::Pages, this)),
      m_targetDelegate(new NavigationDelegate(theme, NavigationDelegate::Kind::Targets, this)),
      m_pages(newView(tr("Pages"), pages, m_pageDelegate)), m_caption(new QLabel(tr("Targets"))),
      m_targets(newView(tr("Targets"), targets, m_targetDelegate))
{
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    m_caption->setProperty("role", QStringLiteral("navigationHead"));
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(7, 8, 8, 6);
    layout->setSpacing(0);
    layout->addWidget(m_pages);
    layout->addWidget(m_caption);
    layout->addWidget(m_targets);
    layout->addStretch();
    connect(m_pages->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex &current) { emit pageChosen(current.row()); });
    // One click or Enter takes another target; the arrow keys alone only move.
    connect(m_targets, &QListView::clicked, this,
            [this](const QModelIndex &index) { emit targetChosen(index.row()); });
    connect(m_targets, &QListView::activated, this,
            [this](const QModelIndex &index) { emit targetChosen(index.row()); });
    for (QAbstractItemModel *model : {static_cast<QAbstractItemModel *>(&pages), &targets}) {
        connect(model, &QAbstractItemModel::rowsInserted, this, &NavigationPanel::updateHeights);
        connect(model, &QAbstractItemModel::rowsRemoved, this, &NavigationPanel::updateHeights);
    }
    connect(&theme, &Theme::changed, this, &NavigationPanel::updateHeights);
    if (targets.rowCount() > 0) // a view without a current index has crashed screen readers in 6.4
        m_targets->setCurrentIndex(targets.index(0, 0));
    setCompact(false);
}

QListView *NavigationPanel::newView(const QString &name, QAbstractItemModel &model,
                                    NavigationDelegate *delegate)
{
    auto *view = new QListView(this);
    view->setModel(&model);
    view->setItemDelegate(delegate);
    view->setAccessibleName(name);
    view->setProperty("navigation", true);
    view->setFrameShape(QFrame::NoFrame);
    view->setMouseTracking(true);
    view->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
    return view;
}

void NavigationPanel::updateHeights()
{
    for (QListView *view : {m_pages, m_targets}) {
        int height = 2;
        for (int row = 0; row < view->model()->rowCount(); ++row)
            height += view->sizeHintForRow(row);
        view->setFixedHeight(qMin(height, 340));
    }
}

void NavigationPanel::setCompact(bool compact)
{
    m_isCompact = compact;
    m_pageDelegate->setCompact(compact);
    m_targetDelegate->setCompact(compact);
    m_caption->setText(compact ? QString() : tr("Targets"));
    setFixedWidth(compact ? CompactWidth : WideWidth);
    updateHeights();
    m_pages->viewport()->update();
    m_targets->viewport()->update();
}

QSize NavigationPanel::sizeHint() const
{
    return {m_isCompact ? CompactWidth : WideWidth, 400};
}

void NavigationPanel::setCurrentPage(int row)
{
    m_pages->setCurrentIndex(m_pages->model()->index(row, 0));
}

void NavigationPanel::paintEvent(QPaintEvent *)
{
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.color(QStringLiteral("bg.window")));
    painter.setPen(m_theme.color(QStringLiteral("line")));
    const int edge = layoutDirection() == Qt::LeftToRight ? width() - 1 : 0;
    painter.drawLine(edge, 0, edge, height());
}

NavigationBar::NavigationBar(NavigationPanel *panel, QWidget *parent) : QToolBar(tr("Navigation"), parent)
{
    setObjectName(QStringLiteral("navigation"));
    setProperty("edge", true);
    setMovable(false);
    setContextMenuPolicy(Qt::PreventContextMenu);
    addWidget(panel);
}

// The style gives every tool bar margins, again at each change of the theme.
bool NavigationBar::event(QEvent *event)
{
    const bool handled = QToolBar::event(event);
    if (event->type() == QEvent::StyleChange || event->type() == QEvent::Polish
        || event->type() == QEvent::Show)
        layout()->setContentsMargins(0, 0, 0, 0);
    return handled;
}

} // namespace ui
