#include "ui/widgets/banner.h"

#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"

#include <QAccessible>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QVBoxLayout>

namespace ui {

namespace {

QString kindOf(State severity)
{
    switch (severity) {
    case State::Warn:
        return QStringLiteral("warn");
    case State::Run:
        return QStringLiteral("run");
    case State::Ok:
        return QStringLiteral("ok");
    default:
        return QStringLiteral("err");
    }
}

} // namespace

Banner::Banner(const Theme &theme, QWidget *parent)
    : QFrame(parent), m_icon(new StateLabel(theme)), m_what(new QLabel), m_cause(new QLabel),
      m_buttons(new QHBoxLayout)
{
    m_icon->setWordVisible(false);
    m_what->setWordWrap(true);
    m_cause->setWordWrap(true);
    m_cause->setProperty("role", QStringLiteral("secondary"));
    for (auto *label : {m_what, m_cause})
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto *texts = new QVBoxLayout;
    texts->setSpacing(2);
    texts->addWidget(m_what);
    texts->addWidget(m_cause);
    m_buttons->setSpacing(8);
    auto *layout = new QHBoxLayout(this);
    layout->setContentsMargins(12, 8, 12, 8);
    layout->setSpacing(10);
    layout->addWidget(m_icon);
    layout->addLayout(texts, 1);
    layout->addLayout(m_buttons);
    hide();
}

void Banner::showText(const BannerText &text, const QList<BannerFix> &fixes)
{
    m_text = text;
    m_icon->setState(text.severity);
    m_what->setText(text.what);
    m_cause->setText(text.cause.isEmpty() ? QString()
                                          : tr("<b>Cause</b> %1").arg(text.cause.toHtmlEscaped()));
    m_cause->setVisible(!text.cause.isEmpty());
    setAccessibleName(text.what);
    setAccessibleDescription(text.cause);
    setProperty("banner", kindOf(text.severity));
    style()->polish(this);
    setFixes(fixes);
    show();
    emit shownChanged(true);
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void Banner::setFixes(const QList<BannerFix> &fixes)
{
    while (auto *item = m_buttons->takeAt(0)) {
        // Not deleted at once: one of these may be the button whose click brought us here.
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    const auto add = [this](const QString &text, const std::function<void()> &run) {
        auto *button = new QPushButton(text);
        connect(button, &QPushButton::clicked, this, run);
        m_buttons->addWidget(button);
    };
    for (const BannerFix &fix : fixes)
        add(fix.text, fix.run);
    if (!m_text.details.isEmpty())
        add(tr("Copy details"), [this] { QGuiApplication::clipboard()->setText(m_text.details); });
}

void Banner::dismiss()
{
    hide();
    emit shownChanged(false);
}

} // namespace ui
