#pragma once

#include <QWidget>

class QButtonGroup;
class QHBoxLayout;

namespace ui {

/// Buttons joined in a row of which one is chosen ("15 min | 1 h | 6 h"). Left and Right move within the
/// group.
class SegmentedButtons : public QWidget
{
    Q_OBJECT

public:
    /// `name`: what is chosen here, for screen readers ("Time range").
    explicit SegmentedButtons(const QString &name, QWidget *parent = nullptr);

    void addSegment(const QString &text, const QString &toolTip = {});
    [[nodiscard]] int count() const;
    [[nodiscard]] int current() const; ///< -1: none
    void setCurrent(int index);

signals:
    /// By the user or by setCurrent().
    void currentChanged(int index);

private:
    void updateEnds();

    QButtonGroup *m_group;
    QHBoxLayout *m_layout;
};

} // namespace ui
