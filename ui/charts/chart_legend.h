#pragma once

#include "ui/charts/chart_style.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace ui {
class Theme;

/// One line of keys: a piece of each series' line, its name, its value. What does not fit is left out from
/// the end, values first.
class ChartLegend : public QWidget
{
    Q_OBJECT

public:
    struct Key
    {
        SeriesStyle style;
        QString name;
        QString value; ///< empty: none yet
        friend bool operator==(const Key &left, const Key &right)
        {
            return left.name == right.name && left.value == right.value;
        }
    };

    explicit ChartLegend(const Theme &theme, QWidget *parent = nullptr);
    void setKeys(std::vector<Key> keys, const QString &note);
    [[nodiscard]] const std::vector<Key> &keys() const { return m_keys; }
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    const Theme &m_theme;
    std::vector<Key> m_keys;
    QString m_note;
};
} // namespace ui
