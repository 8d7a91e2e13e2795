#include "ui/shell/page.h"

namespace ui {

Page::Page(PageTraits traits, QWidget *parent) : QWidget(parent), m_traits(std::move(traits))
{
    setObjectName(m_traits.id);
    setAccessibleName(m_traits.title);
}

void Page::setState(State state, const QString &text)
{
    if (state == m_state && text == m_stateText)
        return;
    m_state = state;
    m_stateText = text;
    emit stateChanged();
}

void Page::setStatusText(const QString &text)
{
    if (text == m_statusText)
        return;
    m_statusText = text;
    emit statusTextChanged();
}

} // namespace ui
