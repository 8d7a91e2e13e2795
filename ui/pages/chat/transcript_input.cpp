// Mouse, keyboard and selection of the transcript; layout and painting are in transcript_view.cpp.
#include "ui/pages/chat/transcript_view.h"

#include "models/chat/transcript.h"
#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTextCursor>
#include <QToolTip>
#include <QUrl>

namespace ui {
namespace {

constexpr int codeStep = 60; // px, of one key press

/// Text as it is typed: Qt's documents use their own characters for line ends.
QString clipboardText(QString text)
{
    text.replace(QChar(QChar::ParagraphSeparator), QLatin1Char('\n'));
    text.replace(QChar(QChar::LineSeparator), QLatin1Char('\n'));
    text.replace(QChar(0xFDD0), QLatin1Char('\n')); // Begin and end of a table.
    text.replace(QChar(0xFDD1), QLatin1Char('\n'));
    text.replace(QChar(QChar::ObjectReplacementCharacter), QString());
    return text;
}

QTextCursor::MoveOperation operationFor(int key, bool byWord)
{
    switch (key) {
    case Qt::Key_Left:
        return byWord ? QTextCursor::PreviousWord : QTextCursor::PreviousCharacter;
    case Qt::Key_Right:
        return byWord ? QTextCursor::NextWord : QTextCursor::NextCharacter;
    case Qt::Key_Up:
        return QTextCursor::Up;
    case Qt::Key_Down:
        return QTextCursor::Down;
    case Qt::Key_Home:
        return byWord ? QTextCursor::Start : QTextCursor::StartOfLine;
    default:
        return byWord ? QTextCursor::End : QTextCursor::EndOfLine;
    }
}

} // namespace

bool TranscriptView::hasSelection() const
{
    return m_anchor.isValid() && m_anchor != m_caret;
}

std::pair<TextPlace, TextPlace> TranscriptView::orderedSelection() const
{
    if (!hasSelection())
        return {};
    return m_anchor < m_caret ? std::pair(m_anchor, m_caret) : std::pair(m_caret, m_anchor);
}

void TranscriptView::clearSelection()
{
    if (m_anchor.isValid())
        viewport()->update();
    m_anchor = {};
    m_caret = {};
}

QString TranscriptView::selectedText() const
{
    const auto [begin, end] = orderedSelection();
    if (!begin.isValid())
        return {};
    QStringList messages;
    for (int i = begin.message; i <= end.message; ++i) {
        const MessageLayout &layout = layoutOf(i);
        QStringList pieces;
        const int first = i == begin.message ? begin.piece : 0;
        const int last = i == end.message ? end.piece : layout.pieceCount() - 1;
        for (int piece = first; piece <= last && piece < layout.pieceCount(); ++piece) {
            const BlockDocument &document = layout.document(piece);
            const bool isBegin = i == begin.message && piece == begin.piece;
            const bool isEnd = i == end.message && piece == end.piece;
            if (!isBegin && !isEnd) {
                pieces += models::plainText(document.block());
                continue;
            }
            QTextCursor cursor(const_cast<BlockDocument *>(&document));
            const int length = document.characterCount() - 1;
            cursor.setPosition(isBegin ? std::min(begin.position, length) : 0);
            cursor.setPosition(isEnd ? std::min(end.position, length) : length, QTextCursor::KeepAnchor);
            const bool isWhole = cursor.selectionStart() == 0 && cursor.selectionEnd() == length;
            pieces += isWhole ? models::plainText(document.block()) : cursor.selectedText();
        }
        messages += pieces.join(QStringLiteral("\n\n"));
    }
    return clipboardText(messages.join(QStringLiteral("\n\n")));
}

void TranscriptView::copy()
{
    if (!hasSelection() && (m_current < 0 || m_current >= m_transcript.count()))
        return;
    const QString text = hasSelection() ? selectedText() : m_transcript.at(m_current).content;
    QGuiApplication::clipboard()->setText(text);
    emit copied(hasSelection() ? tr("Selection copied") : tr("Message copied"));
}

void TranscriptView::selectAll()
{
    if (m_transcript.count() == 0)
        return;
    const int last = m_transcript.count() - 1;
    m_anchor = {0, 0, 0};
    m_caret = {last, std::max(0, layoutOf(last).pieceCount() - 1), INT_MAX};
    viewport()->update();
}

TranscriptView::Hit TranscriptView::hitAt(const QPoint &position)
{
    Hit hit;
    const int index = messageAt(position.y() + scrollValue());
    if (index < 0 || !messageRect(index).contains(position))
        return hit;
    hit.message = index;
    const MessageLayout &layout = ensure(index);
    const QPointF inside = position - messageRect(index).topLeft();
    for (int i = 0; i < layout.controls().size(); ++i)
        if (layout.controls()[i].rect.contains(inside))
            hit.control = i;
    if (hit.control >= 0)
        return hit;
    if (const int piece = layout.pieceAt(inside.y()); piece >= 0)
        hit.link = layout.document(piece).linkAt(inside - layout.textOrigin(piece));
    return hit;
}

TextPlace TranscriptView::placeAt(const QPoint &position)
{
    const int index = messageAt(position.y() + scrollValue());
    if (index < 0)
        return {};
    const MessageLayout &layout = ensure(index);
    const QPointF inside = position - messageRect(index).topLeft();
    const int piece = layout.pieceAt(inside.y());
    if (piece < 0)
        return {index, 0, 0};
    const int at
        = layout.document(piece).documentLayout()->hitTest(inside - layout.textOrigin(piece), Qt::FuzzyHit);
    return {index, piece, std::max(0, at)};
}

void TranscriptView::mousePressEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton)
        return;
    const Hit hit = hitAt(event->pos());
    if (hit.message >= 0) {
        updateMessage(m_current);
        m_current = hit.message;
    }
    if (hit.control >= 0) {
        const MessageControl control
            = ensure(hit.message).controls()[hit.control]; // It may go away by what it does.
        m_focusedControl = hit.control;
        activate(hit.message, control);
        return;
    }
    m_focusedControl = -1;
    const TextPlace place = placeAt(event->pos());
    if (!(event->modifiers() & Qt::ShiftModifier) || !m_anchor.isValid())
        m_anchor = place;
    m_caret = place;
    m_isSelecting = true;
    viewport()->update();
}

void TranscriptView::mouseMoveEvent(QMouseEvent *event)
{
    if (m_isSelecting) {
        m_caret = placeAt(event->pos());
        if (event->pos().y() < 0)
            verticalScrollBar()->setValue(scrollValue() - 20);
        else if (event->pos().y() > viewport()->height())
            verticalScrollBar()->setValue(scrollValue() + 20);
        viewport()->update();
        return;
    }
    const Hit hit = hitAt(event->pos());
    if (hit.message != m_hovered.message || hit.control != m_hovered.control) {
        updateMessage(m_hovered.message);
        updateMessage(hit.message);
    }
    m_hovered = hit;
    viewport()->setCursor(hit.control >= 0          ? Qt::ArrowCursor
                              : !hit.link.isEmpty() ? Qt::PointingHandCursor
                                                    : Qt::IBeamCursor);
}

void TranscriptView::mouseReleaseEvent(QMouseEvent *event)
{
    if (event->button() != Qt::LeftButton || !m_isSelecting)
        return;
    m_isSelecting = false;
    if (hasSelection()) {
        if (QGuiApplication::clipboard()->supportsSelection())
            QGuiApplication::clipboard()->setText(selectedText(), QClipboard::Selection);
        return;
    }
    // The parser lets only http and https through; asked again here, where it matters.
    const QUrl url(hitAt(event->pos()).link);
    if (url.scheme() == QLatin1String("http") || url.scheme() == QLatin1String("https"))
        QDesktopServices::openUrl(url);
}

void TranscriptView::mouseDoubleClickEvent(QMouseEvent *event)
{
    const TextPlace place = placeAt(event->pos());
    if (!place.isValid() || ensure(place.message).pieceCount() == 0 || hitAt(event->pos()).control >= 0)
        return;
    QTextCursor cursor(&ensure(place.message).document(place.piece));
    cursor.setPosition(place.position);
    cursor.select(QTextCursor::WordUnderCursor);
    m_anchor = {place.message, place.piece, cursor.selectionStart()};
    m_caret = {place.message, place.piece, cursor.selectionEnd()};
    viewport()->update();
}

void TranscriptView::moveSelection(int key, Qt::KeyboardModifiers modifiers)
{
    if (m_current < 0)
        return;
    if (!m_anchor.isValid()) {
        m_anchor = {m_current, 0, 0};
        m_caret = m_anchor;
    }
    const MessageLayout &layout = ensure(m_caret.message);
    const bool isBack = key == Qt::Key_Left || key == Qt::Key_Up || key == Qt::Key_Home;
    if (m_caret.piece < layout.pieceCount()) {
        QTextCursor cursor(&layout.document(m_caret.piece));
        cursor.setPosition(std::min(m_caret.position, layout.document(m_caret.piece).characterCount() - 1));
        if (cursor.movePosition(operationFor(key, modifiers & Qt::ControlModifier))) {
            m_caret.position = cursor.position();
            viewport()->update();
            return;
        }
    }
    if (key == Qt::Key_Home || key == Qt::Key_End)
        return;
    // At the end of a piece the caret goes on in the next one, also in the next message.
    TextPlace next = m_caret;
    if (isBack) {
        if (next.piece > 0)
            next = {next.message, next.piece - 1, INT_MAX};
        else if (next.message > 0)
            next = {next.message - 1, std::max(0, ensure(next.message - 1).pieceCount() - 1), INT_MAX};
    } else if (next.piece + 1 < layout.pieceCount()) {
        next = {next.message, next.piece + 1, 0};
    } else if (next.message + 1 < m_transcript.count()) {
        next = {next.message + 1, 0, 0};
    }
    const MessageLayout &target = ensure(next.message);
    if (next.position == INT_MAX && next.piece < target.pieceCount())
        next.position = target.document(next.piece).characterCount() - 1;
    m_caret = next;
    if (next.message != m_current)
        setCurrentMessage(next.message);
    viewport()->update();
}

void TranscriptView::moveControl(int step)
{
    if (m_current < 0 || m_current >= m_transcript.count())
        return;
    const int count = static_cast<int>(ensure(m_current).controls().size());
    if (count == 0)
        return;
    m_focusedControl
        = m_focusedControl < 0 ? (step > 0 ? 0 : count - 1) : (m_focusedControl + step + count) % count;
    const MessageControl &control = ensure(m_current).controls()[m_focusedControl];
    const int y = messageRect(m_current).top() + static_cast<int>(control.rect.top());
    if (y < 0 || y > viewport()->height() - 40)
        verticalScrollBar()->setValue(scrollValue() + y - viewport()->height() / 2);
    updateMessage(m_current);
    setAccessibleDescription(control.name);
}

void TranscriptView::scrollCode(int step)
{
    if (m_current < 0)
        return;
    MessageLayout &layout = ensure(m_current);
    for (int piece = 0; piece < layout.pieceCount(); ++piece)
        layout.scrollCode(piece, step * codeStep);
    updateMessage(m_current);
}

// Sideways, or with Shift: the code under the pointer; else the transcript.
void TranscriptView::wheelEvent(QWheelEvent *event)
{
    const QPoint pixels = event->pixelDelta().isNull() ? event->angleDelta() / 2 : event->pixelDelta();
    const bool isSideways
        = qAbs(pixels.x()) > qAbs(pixels.y()) || (event->modifiers() & Qt::ShiftModifier) != 0;
    const QPoint at = event->position().toPoint();
    const int message = messageAt(at.y() + scrollValue());
    if (isSideways && message >= 0) {
        MessageLayout &layout = ensure(message);
        const int by = pixels.x() != 0 ? pixels.x() : pixels.y();
        if (layout.scrollCode(layout.pieceAt(at.y() - messageRect(message).top()), -by))
            updateMessage(message);
        event->accept();
        return;
    }
    QAbstractScrollArea::wheelEvent(event);
}

void TranscriptView::keyPressEvent(QKeyEvent *event)
{
    const bool isShift = event->modifiers() & Qt::ShiftModifier;
    if (event->matches(QKeySequence::Copy))
        return copy();
    if (event->matches(QKeySequence::SelectAll))
        return selectAll();
    switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
        if (isShift)
            moveSelection(event->key(), event->modifiers());
        else if (event->modifiers() & Qt::AltModifier)
            scrollCode(event->key() == Qt::Key_Right ? 1 : -1);
        else
            moveControl(event->key() == Qt::Key_Right ? 1 : -1);
        return;
    case Qt::Key_Up:
    case Qt::Key_Down:
        if (isShift)
            moveSelection(event->key(), event->modifiers());
        else if (event->modifiers() & Qt::ControlModifier)
            verticalScrollBar()->setValue(scrollValue() + (event->key() == Qt::Key_Down ? 40 : -40));
        else
            setCurrentMessage(m_current + (event->key() == Qt::Key_Down ? 1 : -1));
        return;
    case Qt::Key_Home:
    case Qt::Key_End:
        if (isShift)
            moveSelection(event->key(), event->modifiers());
        else if (event->key() == Qt::Key_End)
            follow();
        else
            verticalScrollBar()->setValue(0);
        return;
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        verticalScrollBar()->triggerAction(event->key() == Qt::Key_PageUp ? QScrollBar::SliderPageStepSub
                                                                          : QScrollBar::SliderPageStepAdd);
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (m_focusedControl >= 0 && m_current >= 0
            && m_focusedControl < ensure(m_current).controls().size()) {
            const MessageControl control = ensure(m_current).controls()[m_focusedControl];
            activate(m_current, control);
            return;
        }
        break;
    default:
        break;
    }
    QAbstractScrollArea::keyPressEvent(event);
}

void TranscriptView::activate(int message, const MessageControl &control)
{
    switch (control.kind) {
    case MessageControl::ToggleReasoning:
        return toggleReasoning(message);
    case MessageControl::CopyCode:
        QGuiApplication::clipboard()->setText(ensure(message).document(control.piece).block().code);
        emit copied(tr("Code copied"));
        return;
    case MessageControl::CopyMessage:
        QGuiApplication::clipboard()->setText(m_transcript.at(message).content);
        emit copied(tr("Message copied"));
        return;
    case MessageControl::Regenerate:
        emit regenerateRequested(message);
        return;
    case MessageControl::Edit:
        emit editRequested(message);
        return;
    case MessageControl::PreviousVersion:
        emit variantRequested(message, -1);
        return;
    case MessageControl::NextVersion:
        emit variantRequested(message, 1);
        return;
    case MessageControl::Stop:
        emit stopRequested();
        return;
    }
}

QPoint TranscriptView::controlCenter(int message, int control) const
{
    return messageRect(message).topLeft() + layoutOf(message).controls().at(control).rect.center().toPoint();
}

void TranscriptView::contextMenuEvent(QContextMenuEvent *event)
{
    QMenu menu(this);
    QAction *copyAction = menu.addAction(tr("&Copy"), this, &TranscriptView::copy);
    copyAction->setEnabled(hasSelection() || m_current >= 0);
    menu.addAction(tr("Select &all"), this, &TranscriptView::selectAll);
    const QString link = hitAt(event->pos()).link;
    if (!link.isEmpty())
        menu.addAction(tr("Copy &link"), this, [link] { QGuiApplication::clipboard()->setText(link); });
    menu.exec(event->globalPos());
}

void TranscriptView::focusInEvent(QFocusEvent *event)
{
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

bool TranscriptView::viewportEvent(QEvent *event)
{
    if (event->type() == QEvent::ToolTip) {
        auto *help = static_cast<QHelpEvent *>(event);
        const Hit hit = hitAt(help->pos());
        const QString text = hit.control >= 0 ? ensure(hit.message).controls()[hit.control].name : hit.link;
        QToolTip::showText(help->globalPos(), text, viewport());
        return true;
    }
    if (event->type() == QEvent::Leave && m_hovered.message >= 0) {
        updateMessage(m_hovered.message);
        m_hovered = {};
    }
    return QAbstractScrollArea::viewportEvent(event);
}

} // namespace ui
