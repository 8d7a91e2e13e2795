#pragma once

#include "ui/widgets/state.h"

#include <QWidget>

namespace ui {

class Theme;

/// A small rounded label with a state's shape and background: "3 alerts", "streaming".
class Chip : public QWidget
{
    Q_OBJECT

public:
    explicit Chip(const Theme &theme, QWidget *parent = nullptr);

    void setText(const QString &text);
    [[nodiscard]] const QString &text() const { return m_text; }
    void setState(State state); ///< None: neutral background, no shape

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    const Theme &m_theme;
    QString m_text;
    State m_state = State::None;
};

} // namespace ui
