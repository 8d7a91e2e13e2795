#include "ui/shell/dock.h"

#include "ui/theme/theme.h"
#include "ui/widgets/icon_button.h"

#include <QCloseEvent>
#include <QHBoxLayout>
#include <QLabel>

namespace ui {

Dock::Dock(const Theme &theme, const QString &id, const QString &title, Page *page, QWidget *parent)
    : QDockWidget(title, parent), m_page(page)
{
    setObjectName(id);
    setAccessibleName(title);
    setFeatures(DockWidgetClosable | DockWidgetMovable | DockWidgetFloatable);
    setTitleBarWidget(newHead(theme, title));
    m_isPageCurrent = page == nullptr;
    if (page)
        hide();
}

QWidget *Dock::newHead(const Theme &theme, const QString &title)
{
    auto *head = new QFrame;
    head->setProperty("dockHead", true);
    head->setFixedHeight(32);
    auto *layout = new QHBoxLayout(head);
    layout->setContentsMargins(12, 0, 4, 1);
    layout->setSpacing(0);
    auto *label = new QLabel(title);
    label->setProperty("role", QStringLiteral("dockTitle"));
    layout->addWidget(label);
    layout->addStretch();
    if (m_page) {
        m_pin = new IconButton(theme, QStringLiteral("pin"), tr("Keep %1 beside every page").arg(title));
        m_pin->setCheckable(true);
        connect(m_pin, &QToolButton::toggled, this, &Dock::setPinned);
        layout->addWidget(m_pin);
    }
    auto *floating = new IconButton(theme, QStringLiteral("float"), tr("Float %1").arg(title));
    connect(floating, &QToolButton::clicked, this, [this] { setFloating(!isFloating()); });
    auto *close = new IconButton(theme, QStringLiteral("close"), tr("Close %1").arg(title));
    connect(close, &QToolButton::clicked, this, &QDockWidget::close);
    layout->addWidget(floating);
    layout->addWidget(close);
    return head;
}

void Dock::setWanted(bool wanted)
{
    if (wanted != m_isWanted) {
        m_isWanted = wanted;
        emit wantedChanged(wanted);
    }
    updateVisible();
}

void Dock::setPinned(bool pinned)
{
    m_isPinned = pinned;
    if (m_pin)
        m_pin->setChecked(pinned);
    updateVisible();
}

void Dock::setCurrentPage(const Page *page)
{
    m_isPageCurrent = !m_page || m_page == page;
    updateVisible();
}

void Dock::updateVisible()
{
    setVisible(m_isWanted && (m_isPageCurrent || m_isPinned));
}

void Dock::closeEvent(QCloseEvent *event)
{
    QDockWidget::closeEvent(event);
    setWanted(false);
}

} // namespace ui
