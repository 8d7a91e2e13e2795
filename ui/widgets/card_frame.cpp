#include "ui/widgets/card_frame.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace ui {

CardFrame::CardFrame(const QString &title, QWidget *parent)
    : QFrame(parent), m_title(new QLabel), m_head(new QHBoxLayout), m_body(new QVBoxLayout)
{
    setProperty("card", true);
    m_title->setProperty("role", QStringLiteral("section"));
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 8, 12, 12);
    layout->setSpacing(8);
    m_head->addWidget(m_title);
    m_head->addStretch();
    layout->addLayout(m_head);
    layout->addLayout(m_body, 1);
    setTitle(title);
}

void CardFrame::setTitle(const QString &title)
{
    m_title->setText(title);
    m_title->setVisible(!title.isEmpty());
    setAccessibleName(title);
}

} // namespace ui
