#include "ui/widgets/log_view.h"

#include "models/log/log_buffer.h"
#include "ui/theme/theme.h"
#include "ui/widgets/log_view_accessible.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QGuiApplication>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

namespace ui {

namespace {
constexpr int Margin = 8;
constexpr int SliceTime = 8; // ms
constexpr int SliceCheck = 64; // lines between two looks at the clock
} // namespace

LogView::LogView(const Theme &theme, models::LogBuffer &lines, QWidget *parent)
    : QAbstractScrollArea(parent), m_theme(theme), m_lines(lines)
{
    installLogViewAccessible();
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    viewport()->setCursor(Qt::IBeamCursor);
    setLayoutDirection(Qt::LeftToRight); // logs are never mirrored
    connect(&lines, &models::LogBuffer::changed, this, &LogView::onChanged);
    connect(&lines, &models::LogBuffer::cleared, this, [this] {
        m_anchor = m_cursor = -1;
        m_longest = 0;
        refilter();
    });
    connect(&theme, &Theme::changed, this, &LogView::updateFonts);
    updateFonts();
    refilter();
}

void LogView::updateFonts()
{
    const QFontMetrics metrics(m_theme.font(Theme::FontRole::Mono));
    m_lineHeight = metrics.height() + 2;
    m_charWidth = metrics.horizontalAdvance(u'0');
    updateBars();
    viewport()->update();
}

bool LogView::matches(int line) const
{
    return m_filter.match(QString::fromUtf8(m_lines.line(line))).hasMatch();
}

bool LogView::setFilter(const QString &text, bool isExpression)
{
    QRegularExpression filter(isExpression ? text : QRegularExpression::escape(text),
                              QRegularExpression::CaseInsensitiveOption);
    if (!filter.isValid())
        return false;
    m_filterText = text;
    m_filter = filter;
    m_isFiltered = !text.isEmpty();
    m_anchor = m_cursor = -1;
    refilter();
    return true;
}

void LogView::refilter()
{
    m_shown.clear();
    m_longest = 0;
    m_searched = 0;
    search();
    viewport()->update();
}

/// Looks at the lines that are new, in slices: a full buffer takes longer than the window may stand still.
void LogView::search()
{
    QElapsedTimer clock;
    clock.start();
    for (; m_searched < m_lines.lineCount(); ++m_searched) {
        if (m_searched % SliceCheck == 0 && clock.elapsed() >= SliceTime)
            break;
        m_longest = qMax(m_longest, int(m_lines.line(m_searched).size()));
        if (m_isFiltered && matches(m_searched))
            m_shown.push_back(m_searched);
    }
    if (m_searched == m_lines.lineCount())
        m_search.stop();
    else if (!m_search.isActive())
        m_search.start(0, this);
    updateBars();
}

void LogView::timerEvent(QTimerEvent *event)
{
    if (event->timerId() != m_search.timerId()) {
        QAbstractScrollArea::timerEvent(event);
        return;
    }
    search();
    viewport()->update();
}

void LogView::onChanged(int trimmed, int)
{
    if (trimmed > 0) {
        m_anchor = m_cursor = -1;
        m_searched = qMax(0, m_searched - trimmed);
        const auto kept = std::lower_bound(m_shown.begin(), m_shown.end(), trimmed);
        m_shown.erase(m_shown.begin(), kept);
        for (int &line : m_shown)
            line -= trimmed;
        if (!m_isFollowing && !m_isFiltered) { // the text under the reader's eyes stays
            m_isMovingItself = true;
            verticalScrollBar()->setValue(verticalScrollBar()->value() - trimmed);
            m_isMovingItself = false;
        }
    }
    search();
    viewport()->update();
}

int LogView::shownCount() const
{
    return m_isFiltered ? int(m_shown.size()) : m_lines.lineCount();
}

int LogView::lineAt(int shown) const
{
    return m_isFiltered ? m_shown[size_t(shown)] : shown;
}

void LogView::updateBars()
{
    m_isMovingItself = true;
    const int page = qMax(1, viewport()->height() / m_lineHeight);
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setRange(0, qMax(0, shownCount() - page));
    horizontalScrollBar()->setPageStep(viewport()->width());
    horizontalScrollBar()->setSingleStep(m_charWidth * 4);
    horizontalScrollBar()->setRange(0, qMax(0, m_longest * m_charWidth + 2 * Margin - viewport()->width()));
    if (m_isFollowing)
        verticalScrollBar()->setValue(verticalScrollBar()->maximum());
    m_isMovingItself = false;
}

void LogView::setFollowing(bool following)
{
    if (following == m_isFollowing)
        return;
    m_isFollowing = following;
    updateBars();
    emit followingChanged(following);
}

void LogView::scrollContentsBy(int, int)
{
    viewport()->update();
    if (!m_isMovingItself)
        setFollowing(verticalScrollBar()->value() == verticalScrollBar()->maximum());
}

void LogView::resizeEvent(QResizeEvent *event)
{
    QAbstractScrollArea::resizeEvent(event);
    updateBars();
}

QColor LogView::colorOf(QByteArrayView line) const
{
    const auto has
        = [line](const char *mark) { return line.first(qMin<qsizetype>(line.size(), 80)).contains(mark); };
    if (has("[error]") || has("[critical]") || has("error:") || has("ERROR"))
        return m_theme.color(QStringLiteral("err"));
    if (has("[warning]") || has("[warn]") || has("warning:") || has("WARNING"))
        return m_theme.color(QStringLiteral("warn"));
    if (line.startsWith("$ "))
        return m_theme.color(QStringLiteral("link"));
    return m_theme.color(QStringLiteral("text"));
}

void LogView::paintEvent(QPaintEvent *event)
{
    QPainter painter(viewport());
    painter.fillRect(event->rect(), m_theme.color(QStringLiteral("bg.input")));
    painter.setFont(m_theme.font(Theme::FontRole::Mono));
    const int first = verticalScrollBar()->value();
    const int left = Margin - horizontalScrollBar()->value();
    const int firstColumn = qMax(0, -left / m_charWidth - 1);
    const int columns = viewport()->width() / m_charWidth + 4;
    const auto [low, high] = std::minmax(m_anchor, m_cursor);
    for (int row = first, y = 2; row < shownCount() && y < viewport()->height(); ++row, y += m_lineHeight) {
        if (m_anchor >= 0 && row >= low && row <= high)
            painter.fillRect(0, y, viewport()->width(), m_lineHeight,
                             m_theme.color(QStringLiteral("bg.selected")));
        const QByteArrayView line = m_lines.line(lineAt(row));
        painter.setPen(colorOf(line));
        // Only what is on the screen is shaped: one line may have 64 KiB.
        const QString text
            = QString::fromUtf8(line).replace(u'\t', QStringLiteral("    ")).mid(firstColumn, columns);
        painter.drawText(left + firstColumn * m_charWidth, y + QFontMetrics(painter.font()).ascent() + 1,
                         text);
    }
    if (hasFocus()) {
        painter.setPen(QPen(m_theme.color(QStringLiteral("focus")), 2));
        painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
    }
}

int LogView::firstVisibleRow() const
{
    return verticalScrollBar()->value();
}

int LogView::visibleRowCount() const
{
    return qBound(0, shownCount() - firstVisibleRow(), viewport()->height() / m_lineHeight);
}

QString LogView::rowText(int row) const
{
    return row >= 0 && row < shownCount() ? QString::fromUtf8(m_lines.line(lineAt(row))) : QString();
}

QRect LogView::rowRect(int row) const
{
    return {0, 2 + (row - firstVisibleRow()) * m_lineHeight, viewport()->width(), m_lineHeight};
}

int LogView::rowAtY(int y) const
{
    return qBound(0, verticalScrollBar()->value() + (y - 2) / m_lineHeight, shownCount() - 1);
}

void LogView::mousePressEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton || shownCount() == 0)
        return;
    m_cursor = rowAtY(event->pos().y());
    if (!(event->modifiers() & Qt::ShiftModifier) || m_anchor < 0)
        m_anchor = m_cursor;
    viewport()->update();
}

void LogView::mouseMoveEvent(QMouseEvent *event)
{
    if (!(event->buttons() & Qt::LeftButton) || m_anchor < 0 || shownCount() == 0)
        return;
    m_cursor = rowAtY(event->pos().y());
    viewport()->update();
}

void LogView::selectAll()
{
    if (shownCount() == 0)
        return;
    m_anchor = 0;
    m_cursor = shownCount() - 1;
    viewport()->update();
}

void LogView::keyPressEvent(QKeyEvent *event)
{
    if (event->matches(QKeySequence::Copy)) {
        copy();
    } else if (event->matches(QKeySequence::SelectAll)) {
        selectAll();
    } else if (event->key() == Qt::Key_Home) {
        setFollowing(false);
        verticalScrollBar()->setValue(0);
    } else if (event->key() == Qt::Key_End) {
        setFollowing(true);
    } else if (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down) {
        verticalScrollBar()->triggerAction(event->key() == Qt::Key_Up ? QScrollBar::SliderSingleStepSub
                                                                      : QScrollBar::SliderSingleStepAdd);
    } else if (event->key() == Qt::Key_PageUp || event->key() == Qt::Key_PageDown) {
        verticalScrollBar()->triggerAction(event->key() == Qt::Key_PageUp ? QScrollBar::SliderPageStepSub
                                                                          : QScrollBar::SliderPageStepAdd);
    } else {
        QAbstractScrollArea::keyPressEvent(event);
    }
}

QString LogView::selectedText() const
{
    QStringList lines;
    const bool all = m_anchor < 0;
    const auto [low, high] = std::minmax(m_anchor, m_cursor);
    for (int row = all ? 0 : low; row < (all ? shownCount() : high + 1); ++row)
        lines << QString::fromUtf8(m_lines.line(lineAt(row)));
    return lines.join(u'\n');
}

void LogView::copy() const
{
    QGuiApplication::clipboard()->setText(selectedText());
}

void LogView::contextMenuEvent(QContextMenuEvent *event)
{
    QMenu menu(this);
    menu.addAction(m_anchor < 0 ? tr("Copy all") : tr("Copy"), this, &LogView::copy);
    menu.addAction(tr("Select all"), this, &LogView::selectAll);
    menu.addAction(tr("Clear"), &m_lines, &models::LogBuffer::clear);
    menu.exec(event->globalPos());
}

void LogView::focusInEvent(QFocusEvent *event)
{
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void LogView::focusOutEvent(QFocusEvent *event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace ui
