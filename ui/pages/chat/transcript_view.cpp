#include "ui/pages/chat/transcript_view.h"

#include "models/chat/transcript.h"
#include "ui/theme/theme.h"
#include <QPaintEvent>
#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QStyle>
#include <QToolTip>
#include <algorithm>

namespace ui {
namespace {

constexpr int margin = 18;
constexpr int gap = 14;
constexpr int keptLayouts = 64;
constexpr int widest = 1100; // Longer lines are hard to read.
constexpr qint64 turnTime = 1200; // ms, of the ring of a running answer

} // namespace

TranscriptView::TranscriptView(models::Transcript &transcript, const Theme &theme, QWidget *parent)
    : QAbstractScrollArea(parent), m_transcript(transcript), m_theme(theme),
      m_newText(new QPushButton(tr("New text"), viewport()))
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setObjectName(QStringLiteral("transcript"));
    setAccessibleName(tr("Transcript"));
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setStyleSheet(QStringLiteral("ui--TranscriptView { border: none; }"));
    viewport()->setMouseTracking(true);
    viewport()->setCursor(Qt::IBeamCursor);
    verticalScrollBar()->setSingleStep(20);
    m_newText->setCursor(Qt::ArrowCursor);
    m_newText->setIcon(theme.icon(QStringLiteral("down")));
    m_newText->hide();
    m_clock.start();
    connect(m_newText, &QPushButton::clicked, this, &TranscriptView::follow);
    connect(&m_transcript, &models::Transcript::reset, this, &TranscriptView::onReset);
    connect(&m_transcript, &models::Transcript::appended, this, &TranscriptView::onAppended);
    connect(&m_transcript, &models::Transcript::grew, this, &TranscriptView::onGrew);
    connect(&m_transcript, &models::Transcript::changed, this, &TranscriptView::onChanged);
    connect(&m_transcript, &models::Transcript::truncated, this, &TranscriptView::onTruncated);
    connect(&theme, &Theme::changed, this, [this] {
        m_newText->setIcon(m_theme.icon(QStringLiteral("down")));
        onReset();
    });
    onReset();
}

TranscriptView::~TranscriptView() = default;

int TranscriptView::contentWidth() const
{
    return std::max(120, std::min(viewport()->width() - 2 * margin, widest));
}

int TranscriptView::scrollValue() const
{
    return verticalScrollBar()->value();
}

int TranscriptView::estimatedHeight(int index) const
{
    const models::ChatMessage &message = m_transcript.at(index);
    const int perLine = std::max(20, contentWidth() / 7);
    const int lines = static_cast<int>(message.content.size()) / perLine + 1
        + static_cast<int>(std::min<qsizetype>(message.content.count(QLatin1Char('\n')), 2000));
    return 40 + lines * 20 + (message.role == models::ChatRole::Assistant ? 34 : 0);
}

void TranscriptView::updateOffsets(int from)
{
    m_offsets.resize(m_heights.size() + 1);
    if (from == 0)
        m_offsets[0] = gap;
    for (int i = from; i < m_heights.size(); ++i)
        m_offsets[i + 1] = m_offsets[i] + m_heights[i] + gap;
}

void TranscriptView::forgetAll()
{
    m_layouts.clear();
    m_heights.resize(m_transcript.count());
    for (int i = 0; i < m_heights.size(); ++i)
        m_heights[i] = estimatedHeight(i);
    updateOffsets(0);
}

void TranscriptView::onReset()
{
    clearSelection();
    m_hovered = {};
    m_focusedControl = -1;
    forgetAll();
    m_current = m_transcript.count() - 1;
    m_isFollowing = true;
    showNewText(false);
    layoutVisible();
    viewport()->update();
}

void TranscriptView::onAppended(int index)
{
    m_heights.append(estimatedHeight(index));
    updateOffsets(index);
    m_current = index;
    m_focusedControl = -1;
    m_isFollowing = true; // The user has just asked for it.
    showNewText(false);
    layoutVisible();
    viewport()->update();
}

void TranscriptView::onGrew(int index)
{
    // An answer out of sight only needs its place; it is laid out when somebody looks.
    if (!m_isFollowing && m_offsets[index] > scrollValue() + viewport()->height()) {
        m_layouts.remove(index);
        setHeight(index, std::max(m_heights[index], estimatedHeight(index)));
        updateScrollBar();
        showNewText(true);
        return;
    }
    MessageLayout &layout = ensure(index);
    layout.setMessage(m_transcript.at(index), m_liveFooter);
    const int heightBefore = m_heights[index];
    setHeight(index, qRound(layout.height()));
    if (!m_isFollowing && m_offsets[index] + m_heights[index] > scrollValue() + viewport()->height())
        showNewText(true);
    layoutVisible();
    // Scrolling moved the picture already; only the end of the text is new.
    const QRect rect = messageRect(index);
    const int from = static_cast<int>(layout.changedFrom()) - 2;
    const bool isSameHeight = rect.height() == heightBefore;
    const int to = isSameHeight ? static_cast<int>(layout.footerRect().top()) : rect.height() + gap;
    viewport()->update(QRect(rect.left(), rect.top() + from, rect.width(), to - from));
}

void TranscriptView::onChanged(int index)
{
    if (m_layouts.contains(index)) {
        MessageLayout &layout = ensure(index);
        layout.setMessage(m_transcript.at(index), footerOf(m_transcript.at(index)));
        setHeight(index, qRound(layout.height()));
    } else {
        setHeight(index, estimatedHeight(index));
    }
    m_focusedControl = -1;
    layoutVisible();
    viewport()->update();
}

void TranscriptView::onTruncated(int count)
{
    clearSelection();
    m_layouts.removeIf([count](const auto &entry) { return entry.key() >= count; });
    m_heights.resize(count);
    updateOffsets(std::max(0, count - 1));
    m_current = std::min(m_current, count - 1);
    m_focusedControl = -1;
    layoutVisible();
    viewport()->update();
}

void TranscriptView::setLiveFooter(const AnswerFooter &footer)
{
    m_liveFooter = footer;
    const int last = m_transcript.count() - 1;
    if (last < 0 || m_transcript.at(last).state != models::MessageState::Streaming
        || !m_layouts.contains(last))
        return;
    m_layouts[last]->setFooter(footer);
    const QRect rect = messageRect(last);
    viewport()->update(QRect(rect.left(), rect.bottom() - 32, rect.width(), 34));
}

MessageLayout &TranscriptView::ensure(int index)
{
    auto &layout = m_layouts[index];
    if (!layout) {
        const models::ChatMessage &message = m_transcript.at(index);
        layout = std::make_shared<MessageLayout>(m_theme);
        layout->setReasoningOpen(m_openReasoning.contains(message.id));
        layout->setMessage(
            message, message.state == models::MessageState::Streaming ? m_liveFooter : footerOf(message));
    }
    layout->resize(contentWidth());
    return *layout;
}

void TranscriptView::setHeight(int index, int height)
{
    if (m_heights[index] == height)
        return;
    // What the user is looking at stays where it is when something above it gets its true height.
    const bool isAbove = m_offsets[index] < scrollValue() && !m_isFollowing;
    const int added = height - m_heights[index];
    m_heights[index] = height;
    updateOffsets(index);
    if (!isAbove || index == m_transcript.count() - 1)
        return;
    m_isAdjusting = true;
    verticalScrollBar()->setMaximum(std::max(verticalScrollBar()->maximum(), scrollValue() + added));
    verticalScrollBar()->setValue(scrollValue() + added);
    m_isAdjusting = false;
}

void TranscriptView::updateScrollBar()
{
    m_isAdjusting = true;
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setRange(0, std::max(0, m_offsets.last() - viewport()->height()));
    if (m_isFollowing)
        verticalScrollBar()->setValue(verticalScrollBar()->maximum());
    m_isAdjusting = false;
}

void TranscriptView::layoutVisible()
{
    // True heights may bring further messages into view: at most a few rounds until nothing changes.
    for (int round = 0; round < 8; ++round) {
        updateScrollBar();
        const int total = m_offsets.last();
        const int first = messageAt(scrollValue());
        if (first < 0)
            return;
        for (int i = first; i < m_transcript.count() && m_offsets[i] < scrollValue() + viewport()->height();
             ++i)
            setHeight(i, qRound(ensure(i).height()));
        if (m_offsets.last() == total)
            break;
    }
    updateScrollBar();
    dropFarLayouts();
    placeNewText();
}

void TranscriptView::dropFarLayouts()
{
    if (m_layouts.size() <= keptLayouts)
        return;
    const int middle = messageAt(scrollValue() + viewport()->height() / 2);
    const int streaming = m_transcript.count() - 1;
    m_layouts.removeIf([middle, streaming](const auto &entry) {
        return std::abs(entry.key() - middle) > keptLayouts / 2 && entry.key() != streaming;
    });
}

int TranscriptView::messageAt(int contentY) const
{
    if (m_heights.isEmpty())
        return -1;
    const auto above = std::upper_bound(m_offsets.cbegin(), m_offsets.cend() - 1, contentY);
    return std::clamp(static_cast<int>(above - m_offsets.cbegin()) - 1, 0,
                      static_cast<int>(m_heights.size()) - 1);
}

QRect TranscriptView::messageRect(int index) const
{
    const int left = std::max(margin, (viewport()->width() - contentWidth()) / 2);
    return {left, m_offsets[index] - scrollValue(), contentWidth(), m_heights[index]};
}

void TranscriptView::paintEvent(QPaintEvent *event)
{
    QPainter painter(viewport());
    painter.fillRect(event->rect(), m_theme.color(QStringLiteral("bg.window")));
    const int first = messageAt(scrollValue() + event->rect().top());
    if (first < 0)
        return;
    const auto [begin, end] = orderedSelection();
    for (int i = first; i < m_transcript.count(); ++i) {
        const QRect rect = messageRect(i);
        if (rect.top() > event->rect().bottom())
            break;
        const MessageLayout &layout = ensure(i);
        MessageLayout::Look look;
        look.exposed = QRectF(event->rect()).translated(-rect.topLeft());
        if (begin.isValid() && i >= begin.message && i <= end.message) {
            look.selectionBegin = i == begin.message ? begin : TextPlace{i, 0, 0};
            look.selectionEnd = i == end.message ? end : TextPlace{i, layout.pieceCount() - 1, INT_MAX};
        }
        look.hovered = m_hovered.message == i ? m_hovered.control : -1;
        look.focused = hasFocus() && m_current == i ? m_focusedControl : -1;
        look.isCurrent = hasFocus() && m_current == i;
        const bool isRunning = m_transcript.at(i).state == models::MessageState::Streaming;
        look.hasCursor = isRunning && !m_transcript.at(i).content.isEmpty();
        look.turn = static_cast<qreal>(m_clock.elapsed() % turnTime) / turnTime;
        painter.save();
        painter.translate(rect.topLeft());
        layout.paint(painter, look);
        painter.restore();
    }
}

void TranscriptView::resizeEvent(QResizeEvent *)
{
    // Heights are estimates again, except of what is laid out; the message at the top stays there.
    const int top = messageAt(scrollValue());
    const int inside = top >= 0 ? scrollValue() - m_offsets[top] : 0;
    for (int i = 0; i < m_heights.size(); ++i)
        m_heights[i] = estimatedHeight(i);
    updateOffsets(0);
    for (auto at = m_layouts.begin(); at != m_layouts.end(); ++at)
        if (messageRect(at.key()).intersects(viewport()->rect())) {
            at.value()->resize(contentWidth());
            m_heights[at.key()] = qRound(at.value()->height());
        }
    updateOffsets(0);
    updateScrollBar();
    if (!m_isFollowing && top >= 0) {
        m_isAdjusting = true;
        verticalScrollBar()->setValue(m_offsets[top] + inside);
        m_isAdjusting = false;
    }
    layoutVisible();
}

void TranscriptView::scrollContentsBy(int dx, int dy)
{
    if (m_isAdjusting) {
        if (m_newText->isVisibleTo(viewport()))
            viewport()->update(); // It would be moved along with the picture.
        else
            viewport()->scroll(dx, dy);
        return;
    }
    m_isFollowing = scrollValue() >= verticalScrollBar()->maximum() - 4;
    if (m_isFollowing)
        showNewText(false);
    layoutVisible();
    viewport()->update();
}

void TranscriptView::follow()
{
    m_isFollowing = true;
    showNewText(false);
    layoutVisible();
    viewport()->update();
}

void TranscriptView::showNewText(bool visible)
{
    if (m_newText->isVisibleTo(viewport()) == visible)
        return;
    m_newText->setVisible(visible);
    placeNewText();
}

void TranscriptView::placeNewText()
{
    if (!m_newText->isVisibleTo(viewport()))
        return;
    m_newText->adjustSize();
    m_newText->move((viewport()->width() - m_newText->width()) / 2,
                    viewport()->height() - m_newText->height() - 10);
    m_newText->raise();
}

void TranscriptView::updateMessage(int index)
{
    if (index >= 0 && index < m_transcript.count())
        viewport()->update(messageRect(index).adjusted(-2, -2, 2, 2));
}

void TranscriptView::setCurrentMessage(int index)
{
    if (index < 0 || index >= m_transcript.count())
        return;
    updateMessage(m_current);
    m_current = index;
    m_focusedControl = -1;
    setHeight(index, qRound(ensure(index).height()));
    const QRect rect = messageRect(index);
    if (rect.top() < 0 || rect.bottom() > viewport()->height())
        verticalScrollBar()->setValue(rect.height() > viewport()->height() || rect.top() < 0
                                          ? m_offsets[index] - gap
                                          : m_offsets[index] + m_heights[index] + gap - viewport()->height());
    updateMessage(index);
}

void TranscriptView::toggleReasoning(int index)
{
    const qint64 id = m_transcript.at(index).id;
    const bool open = !m_openReasoning.contains(id);
    if (open)
        m_openReasoning.insert(id);
    else
        m_openReasoning.remove(id);
    clearSelection();
    const int top = messageRect(index).top();
    MessageLayout &layout = ensure(index);
    layout.setReasoningOpen(open);
    m_heights[index] = qRound(layout.height());
    updateOffsets(index);
    m_isFollowing = false; // What was opened stays under the pointer.
    updateScrollBar();
    m_isAdjusting = true;
    verticalScrollBar()->setValue(m_offsets[index] - top);
    m_isAdjusting = false;
    m_isFollowing = scrollValue() >= verticalScrollBar()->maximum() - 4;
    layoutVisible();
    viewport()->update();
}

} // namespace ui
