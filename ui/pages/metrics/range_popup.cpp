#include "ui/pages/metrics/range_popup.h"

#include <QDateTimeEdit>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>

namespace ui {
RangePopup::RangePopup(QWidget *parent)
    : QFrame(parent, Qt::Popup), m_from(new QDateTimeEdit(this)), m_to(new QDateTimeEdit(this)),
      m_error(new QLabel(this))
{
    setProperty("card", true);
    for (QDateTimeEdit *edit : {m_from, m_to}) {
        edit->setDisplayFormat(QStringLiteral("yyyy-MM-dd HH:mm:ss"));
        edit->setCalendarPopup(true);
    }
    m_from->setAccessibleName(tr("Custom range, from"));
    m_to->setAccessibleName(tr("Custom range, to"));
    m_error->setText(tr("The end must lie after the start."));
    m_error->hide();
    auto *show = new QPushButton(tr("Show this range"), this);
    show->setProperty("primary", true);
    auto *form = new QFormLayout(this);
    form->addRow(tr("From"), m_from);
    form->addRow(tr("To"), m_to);
    form->addRow(m_error);
    form->addRow(show);
    connect(show, &QPushButton::clicked, this, &RangePopup::choose);
}

void RangePopup::openBelow(const QWidget *anchor, const models::TimeWindow &window)
{
    m_from->setDateTime(QDateTime::fromSecsSinceEpoch(static_cast<qint64>(window.from)));
    m_to->setDateTime(QDateTime::fromSecsSinceEpoch(static_cast<qint64>(window.to)));
    m_error->hide();
    adjustSize();
    move(anchor->mapToGlobal(QPoint(anchor->width() - width(), anchor->height() + 4)));
    show();
    m_from->setFocus();
}

void RangePopup::choose()
{
    const models::TimeWindow window{static_cast<double>(m_from->dateTime().toSecsSinceEpoch()),
                                    static_cast<double>(m_to->dateTime().toSecsSinceEpoch())};
    const bool isValid = window.length() >= 1;
    m_error->setVisible(!isValid);
    if (!isValid)
        return;
    hide();
    emit windowChosen(window);
}
} // namespace ui
