#include "ui/pages/chat/announcer.h"

#include <QAccessible>

namespace ui {
namespace {

constexpr int stateInterval = 5000; // ms

/// After the last sentence that is complete within `text`; `from` if there is none.
qsizetype endOfSentences(const QString &text, qsizetype from)
{
    for (qsizetype at = text.size() - 1; at > from; --at) {
        const QChar before = text[at - 1];
        const bool isStop = before == QLatin1Char('.') || before == QLatin1Char('!')
            || before == QLatin1Char('?') || before == QLatin1Char(':');
        if ((isStop && text[at].isSpace()) || text[at] == QLatin1Char('\n') || before == QChar(0x3002))
            return at;
    }
    return from;
}

} // namespace

Announcer::Announcer(QWidget *parent) : QWidget(parent)
{
    resize(1, 1);
    lower();
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    setObjectName(QStringLiteral("announcer"));
    m_stateDelay.setSingleShot(true);
    connect(&m_stateDelay, &QTimer::timeout, this, [this] {
        if (m_pendingState.isEmpty())
            return;
        say(m_pendingState);
        m_pendingState.clear();
        m_stateDelay.start(stateInterval);
    });
}

void Announcer::say(const QString &text)
{
    m_last = text;
    setAccessibleName(text);
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void Announcer::beginText()
{
    m_told = 0;
}

void Announcer::textGrew(const QString &text)
{
    const qsizetype end = endOfSentences(text, m_told);
    if (end <= m_told)
        return;
    say(text.mid(m_told, end - m_told).trimmed());
    m_told = end;
}

void Announcer::endText(const QString &text)
{
    const QString rest = text.mid(m_told).trimmed();
    m_told = text.size();
    if (!rest.isEmpty())
        say(rest);
}

void Announcer::announceState(const QString &state)
{
    if (m_stateDelay.isActive()) {
        m_pendingState = state; // The newest replaces what was not said yet.
        return;
    }
    say(state);
    m_stateDelay.start(stateInterval);
}

} // namespace ui
