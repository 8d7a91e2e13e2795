#pragma once

#include "ui/widgets/state.h"

#include <QBasicTimer>
#include <QElapsedTimer>
#include <QWidget>

namespace ui {

class Theme;

/// Draws the shape of a state into `rect` (12 to 18 px). `turn`: 0 to 1, how far the ring of Run has turned.
void paintState(QPainter &painter, const QRect &rect, State state, const Theme &theme, qreal turn = 0);

/// The shape of a state, and the word beside it: never colour alone. The ring of Run turns while it is
/// visible.
class StateLabel : public QWidget
{
    Q_OBJECT

public:
    explicit StateLabel(const Theme &theme, QWidget *parent = nullptr);

    /// An empty `word` means the everyday word of the state. `detail` becomes the tooltip.
    void setState(State state, const QString &word = {}, const QString &detail = {});
    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] const QString &word() const { return m_word; }
    /// The shape alone; the word stays in the tooltip and for screen readers.
    void setWordVisible(bool visible);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent *event) override;
    void timerEvent(QTimerEvent *event) override;
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;

private:
    void updateTimer();
    void updateTexts();

    const Theme &m_theme;
    State m_state = State::None;
    QString m_word;
    QString m_detail;
    bool m_wordVisible = true;
    QBasicTimer m_timer;
    QElapsedTimer m_clock;
};

} // namespace ui
