#pragma once

#include <QAbstractScrollArea>
#include <QBasicTimer>
#include <QRegularExpression>
#include <vector>

namespace models {
class LogBuffer;
}

namespace ui {

class Theme;

/// Shows a LogBuffer: paints the visible lines only, follows the end until the user scrolls up, filters by a
/// text or an expression, selects by line, copies. Home and End as in design section 5.
class LogView : public QAbstractScrollArea
{
    Q_OBJECT

public:
    /// `lines` outlives the view.
    LogView(const Theme &theme, models::LogBuffer &lines, QWidget *parent = nullptr);

    /// Shows the lines that contain `text`, in any case; as a regular expression if asked. Empty: all.
    /// False: the expression is wrong; the filter before it stays.
    bool setFilter(const QString &text, bool isExpression = false);
    [[nodiscard]] int shownCount() const;

    [[nodiscard]] bool isFollowing() const { return m_isFollowing; }
    void setFollowing(bool following);

    /// The selected lines; all shown ones if none is selected.
    [[nodiscard]] QString selectedText() const;
    void copy() const;
    void selectAll();
    [[nodiscard]] bool isSearching() const { return m_search.isActive(); }

    // For the accessible interface: rows on the screen, from above.
    [[nodiscard]] int firstVisibleRow() const;
    [[nodiscard]] int visibleRowCount() const;
    [[nodiscard]] QString rowText(int row) const;
    [[nodiscard]] QRect rowRect(int row) const; ///< in the viewport

signals:
    void followingChanged(bool following);

protected:
    void paintEvent(QPaintEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;
    void scrollContentsBy(int dx, int dy) override;
    void keyPressEvent(QKeyEvent *event) override;
    void mousePressEvent(QMouseEvent *event) override;
    void mouseMoveEvent(QMouseEvent *event) override;
    void contextMenuEvent(QContextMenuEvent *event) override;
    void focusInEvent(QFocusEvent *event) override;
    void focusOutEvent(QFocusEvent *event) override;
    void timerEvent(QTimerEvent *event) override;

private:
    void search();
    void onChanged(int trimmed, int first);
    void refilter();
    void updateBars();
    void updateFonts();
    [[nodiscard]] bool matches(int line) const;
    [[nodiscard]] int lineAt(int shown) const; ///< the buffer's number of a shown row
    [[nodiscard]] int rowAtY(int y) const;
    [[nodiscard]] QColor colorOf(QByteArrayView line) const;

    const Theme &m_theme;
    models::LogBuffer &m_lines;
    QString m_filterText;
    QRegularExpression m_filter;
    bool m_isFiltered = false;
    std::vector<int> m_shown; // buffer numbers, only while filtered
    QBasicTimer m_search; // runs while lines wait to be looked at
    int m_searched = 0; // buffer lines that have been looked at
    bool m_isFollowing = true;
    bool m_isMovingItself = false;
    int m_anchor = -1; // selection in shown rows; -1: none
    int m_cursor = -1;
    int m_lineHeight = 16;
    int m_charWidth = 7;
    int m_longest = 0; // characters, of the lines seen so far
};

} // namespace ui
