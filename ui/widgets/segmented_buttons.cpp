#include "ui/widgets/segmented_buttons.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QStyle>
#include <QToolButton>

namespace ui {

SegmentedButtons::SegmentedButtons(const QString &name, QWidget *parent)
    : QWidget(parent), m_group(new QButtonGroup(this)), m_layout(new QHBoxLayout(this))
{
    setAccessibleName(name);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(0);
    connect(m_group, &QButtonGroup::idToggled, this, [this](int id, bool checked) {
        if (checked)
            emit currentChanged(id);
    });
}

void SegmentedButtons::addSegment(const QString &text, const QString &toolTip)
{
    auto *button = new QToolButton;
    button->setText(text);
    button->setCheckable(true);
    button->setFocusPolicy(Qt::StrongFocus);
    button->setToolTip(toolTip);
    button->setAccessibleName(accessibleName() + u' ' + text);
    m_group->addButton(button, count());
    m_layout->addWidget(button);
    updateEnds();
}

int SegmentedButtons::count() const
{
    return int(m_group->buttons().size());
}

int SegmentedButtons::current() const
{
    return m_group->checkedId();
}

void SegmentedButtons::setCurrent(int index)
{
    if (auto *button = m_group->button(index))
        button->setChecked(true);
}

// The style sheet rounds the outer corners only: it needs to know who stands at the ends.
void SegmentedButtons::updateEnds()
{
    for (int i = 0; i < count(); ++i) {
        const char *place = count() == 1 ? "only" : i == 0 ? "first" : i == count() - 1 ? "last" : "middle";
        m_group->button(i)->setProperty("segment", QString::fromLatin1(place));
        m_group->button(i)->style()->polish(m_group->button(i));
    }
}

} // namespace ui
