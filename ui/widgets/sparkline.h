#pragma once

#include <QColor>
#include <QList>
#include <QWidget>

namespace ui {

class Theme;

/// A line without axes for the last values of something. NaN is a gap. Newest at the end of the reading
/// direction of charts: always right.
class Sparkline : public QWidget
{
    Q_OBJECT

public:
    /// `colorName` as in tokens.json ("chart.1").
    explicit Sparkline(const Theme &theme, const QString &colorName, QWidget *parent = nullptr);

    /// Keeps the newest `limit` values; fewer fill the width from the left.
    void setLimit(int limit);
    void setValues(const QList<double> &values);
    void append(double value);
    void clear();

    [[nodiscard]] QSize sizeHint() const override { return {160, 36}; }

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    const Theme &m_theme;
    QString m_colorName;
    QList<double> m_values;
    int m_limit = 240;
};

} // namespace ui
