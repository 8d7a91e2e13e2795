#pragma once

#include <QTimer>
#include <QWidget>

namespace ui {

/// Tells screen readers what nobody has focus on: streamed text sentence by sentence, and states at most
/// every five seconds. Qt 6.4 has no announcement event, so an invisible label changes its name and raises an
/// alert.
class Announcer : public QWidget
{
    Q_OBJECT

public:
    explicit Announcer(QWidget *parent);

    void beginText();
    /// The whole text so far; the sentences that are new and complete are announced.
    void textGrew(const QString &text);
    void endText(const QString &text); ///< Also what had no full stop.
    void announceState(const QString &state);
    [[nodiscard]] const QString &lastAnnouncement() const { return m_last; }

private:
    void say(const QString &text);

    QString m_last;
    QString m_pendingState;
    qsizetype m_told = 0;
    QTimer m_stateDelay;
};

} // namespace ui
