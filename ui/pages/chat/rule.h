#pragma once

#include <QWidget>

namespace ui {

class Theme;

/// A dividing line of one pixel in the theme's colour: a QFrame's line takes its colour from the text.
class Rule : public QWidget
{
    Q_OBJECT

public:
    explicit Rule(const Theme &theme, QWidget *parent = nullptr);

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    const Theme &m_theme;
};

} // namespace ui
