#include "ui/pages/chat/message_layout.h"

#include "ui/theme/theme.h"
#include <QAbstractTextDocumentLayout>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLocale>

namespace ui {
namespace {

// Pixels at 100 %, from the mock.
constexpr qreal padding = 12;
constexpr qreal userPadding = 9;
constexpr qreal gap = 8;
constexpr qreal headHeight = 20;
constexpr qreal foldHeight = 28;
constexpr qreal codeHead = 27;
constexpr qreal footerHeight = 26;
constexpr qreal iconButton = 24;
constexpr int deepestIndent = 4;

QString tr(const char *text)
{
    return QCoreApplication::translate("ui::MessageLayout", text);
}

/// What the user wrote is shown as it was written: it is no Markdown.
models::MarkdownBlock plainBlock(QString text)
{
    models::MarkdownBlock block;
    text.replace(QLatin1Char('\n'), QChar(QChar::LineSeparator));
    block.text.append({text, models::TextSpan::Plain, {}});
    return block;
}

bool startsWith(const models::IncrementalMarkdown &shown, const QString &text)
{
    return text.size() >= shown.text().size() && text.startsWith(shown.text());
}

} // namespace

void MessageLayout::setMessage(const models::ChatMessage &message, const AnswerFooter &footer)
{
    const bool isSameText
        = startsWith(m_content, message.content) && startsWith(m_reasoning, message.reasoning);
    if (!isSameText || message.id != m_message.id) {
        m_content = {};
        m_reasoning = {};
        m_pieces.clear();
        m_reasoningPieces = 0;
    }
    const bool isGrowing = isSameText && message.id == m_message.id && message.state == m_message.state
        && message.reasoning == m_message.reasoning;
    m_message = message;
    m_footer = footer;
    updatePieces();
    const int first = m_reasoningPieces + std::max(0, m_content.firstChanged());
    m_changedFrom = isGrowing && first < pieceCount() ? m_pieces[first].frame.top() : 0;
}

void MessageLayout::setReasoningOpen(bool open)
{
    if (open == m_isReasoningOpen)
        return;
    m_isReasoningOpen = open;
    m_pieces.erase(m_pieces.begin(), m_pieces.begin() + m_reasoningPieces);
    m_reasoningPieces = 0;
    m_reasoning = {};
    updatePieces();
}

void MessageLayout::updatePieces()
{
    const bool isFinal = m_message.state != models::MessageState::Streaming;
    std::vector<Piece> reasoning(std::make_move_iterator(m_pieces.begin()),
                                 std::make_move_iterator(m_pieces.begin() + m_reasoningPieces));
    m_pieces.erase(m_pieces.begin(), m_pieces.begin() + m_reasoningPieces);
    const auto update = [isFinal](models::IncrementalMarkdown &shown, const QString &text) {
        const qsizetype known = shown.text().size();
        int first = static_cast<int>(shown.blocks().size());
        if (text.size() > known) {
            shown.append(text.mid(known));
            first = shown.firstChanged();
        }
        if (isFinal) {
            shown.finish();
            first = std::min(first, shown.firstChanged());
        }
        return first;
    };
    if (m_isReasoningOpen && !m_message.reasoning.isEmpty()) {
        const int first = update(m_reasoning, m_message.reasoning);
        syncPieces(reasoning, m_reasoning.blocks(), first);
    }
    for (Piece &piece : reasoning)
        piece.isReasoning = true;
    if (isUser()) {
        m_content = {};
        syncPieces(m_pieces, {plainBlock(m_message.content)}, 0);
    } else {
        const int first = update(m_content, m_message.content);
        syncPieces(m_pieces, m_content.blocks(), first);
    }
    m_reasoningPieces = static_cast<int>(reasoning.size());
    m_pieces.insert(m_pieces.begin(), std::make_move_iterator(reasoning.begin()),
                    std::make_move_iterator(reasoning.end()));
    if (m_width > 0)
        place();
}

void MessageLayout::syncPieces(std::vector<Piece> &pieces, const QVector<models::MarkdownBlock> &blocks,
                               int firstChanged)
{
    pieces.resize(std::min<std::size_t>(pieces.size(), static_cast<std::size_t>(blocks.size())));
    for (int i = std::min(firstChanged, static_cast<int>(pieces.size())); i < blocks.size(); ++i) {
        if (i < static_cast<int>(pieces.size())) {
            if (pieces[i].document->block() == blocks[i])
                continue;
            if (pieces[i].document->block().kind != blocks[i].kind)
                pieces[i].document = std::make_unique<BlockDocument>(m_theme);
        } else {
            pieces.push_back({std::make_unique<BlockDocument>(m_theme), {}, {}, false, 0});
        }
        pieces[i].document->setBlock(blocks[i]);
    }
}

void MessageLayout::resize(qreal width)
{
    if (width == m_width)
        return;
    m_width = width;
    place();
}

QString MessageLayout::reasoningTitle() const
{
    if (m_message.state == models::MessageState::Streaming && m_message.content.isEmpty())
        return tr("Thinking…");
    const auto &took = m_message.measurements.reasoning;
    return took
        ? tr("Thought for %1 s").arg(QLocale().toString(static_cast<double>(took->count()) / 1e6, 'f', 1))
        : tr("Thoughts");
}

qreal MessageLayout::placeHead(qreal y)
{
    m_headY = y;
    qreal right = m_width - padding;
    const bool isStreaming = m_message.state == models::MessageState::Streaming;
    const auto button = [&](MessageControl::Kind kind, const QString &name, const char *icon) {
        right -= iconButton;
        addControl({kind, -1, QRectF(right, y - 2, iconButton, iconButton), {}, name, icon});
    };
    if (isUser()) {
        button(MessageControl::CopyMessage, tr("Copy the question"), "copy");
        button(MessageControl::Edit, tr("Edit and ask again"), "edit");
    }
    if (m_message.variantCount > 1 && !isStreaming) {
        right -= gap;
        button(MessageControl::NextVersion, tr("Next version"), "chev");
        right -= 44;
        button(MessageControl::PreviousVersion, tr("Previous version"), "chev");
    }
    return y + headHeight + 4;
}

qreal MessageLayout::placePiece(Piece &piece, qreal y, qreal left, qreal width)
{
    const models::MarkdownBlock &block = piece.document->block();
    const qreal indent = 14.0 * std::min(block.quoteDepth, deepestIndent)
        + (block.kind == models::MarkdownBlock::List ? 0 : 20.0 * std::min(block.listDepth, deepestIndent));
    left += indent;
    width = std::max<qreal>(80, width - indent);
    const auto setWidth = [&piece](qreal textWidth) {
        if (piece.document->textWidth() != textWidth)
            piece.document->setTextWidth(textWidth);
    };
    switch (block.kind) {
    case models::MarkdownBlock::Rule:
        piece.frame = QRectF(left, y, width, 9);
        piece.textAt = piece.frame.topLeft();
        break;
    case models::MarkdownBlock::Code:
        piece.frame = QRectF(left, y, width, codeHead + piece.document->size().height() + 17);
        piece.codeScroll = std::min(piece.codeScroll, codeOverflow(piece));
        piece.textAt = QPointF(left + 11 - piece.codeScroll, y + codeHead + 8);
        break;
    case models::MarkdownBlock::Table:
        setWidth(width - 2);
        piece.textAt = QPointF(left + 1, y + 1);
        piece.frame = QRectF(left, y, width, piece.document->size().height() + 2);
        break;
    default:
        setWidth(width);
        piece.textAt = QPointF(left, y);
        piece.frame = QRectF(left, y, width, piece.document->size().height());
        break;
    }
    return piece.frame.bottom();
}

qreal MessageLayout::placeFooter(qreal y)
{
    m_footerRect = QRectF(padding, y, m_width - 2 * padding, footerHeight);
    qreal right = m_width - padding;
    if (m_message.state == models::MessageState::Streaming) {
        addControl({MessageControl::Stop, -1, QRectF(right - 92, y, 92, footerHeight - 2), tr("Stop  Esc"),
                    tr("Stop the answer"), "stop"});
        return m_footerRect.bottom();
    }
    const auto button = [&](MessageControl::Kind kind, const QString &name, const char *icon) {
        right -= iconButton;
        addControl({kind, -1, QRectF(right, y + 1, iconButton, iconButton), {}, name, icon});
    };
    button(MessageControl::Regenerate, tr("Regenerate the answer"), "refresh");
    button(MessageControl::CopyMessage, tr("Copy the answer"), "copy");
    return m_footerRect.bottom();
}

void MessageLayout::place()
{
    m_controls.clear();
    const qreal width = m_width - 2 * padding;
    qreal y = placeHead(isUser() ? userPadding : 4);
    m_reasoningHead = {};
    if (!m_message.reasoning.isEmpty()) {
        m_reasoningHead = QRectF(padding, y, width, foldHeight);
        addControl({MessageControl::ToggleReasoning,
                    -1,
                    m_reasoningHead,
                    {},
                    m_isReasoningOpen ? tr("Hide the reasoning") : tr("Show the reasoning"),
                    ""});
        y += foldHeight + gap;
    }
    for (int i = 0; i < pieceCount(); ++i) {
        Piece &piece = m_pieces[i];
        y = placePiece(piece, y, padding + (piece.isReasoning ? 12 : 0),
                       width - (piece.isReasoning ? 12 : 0));
        if (piece.document->block().kind == models::MarkdownBlock::Code) {
            const QRectF head(piece.frame.right() - 74, piece.frame.top() + 2, 70, codeHead - 4);
            addControl({MessageControl::CopyCode, i, head, tr("Copy"), tr("Copy the code"), "copy"});
        }
        const bool isItem = piece.document->block().kind == models::MarkdownBlock::List
            && i + 1 < pieceCount() && m_pieces[i + 1].document->block().kind == models::MarkdownBlock::List;
        y += isItem ? 2 : gap;
    }
    if (isUser()) {
        m_height = y - gap + userPadding;
        return;
    }
    m_height = placeFooter(y) + 2;
}

qreal MessageLayout::codeOverflow(const Piece &piece)
{
    return std::max<qreal>(0, piece.document->size().width() - (piece.frame.width() - 22));
}

bool MessageLayout::scrollCode(int index, qreal by)
{
    if (index < 0 || index >= pieceCount()
        || m_pieces[index].document->block().kind != models::MarkdownBlock::Code)
        return false;
    Piece &piece = m_pieces[index];
    const qreal to = std::clamp<qreal>(piece.codeScroll + by, 0, codeOverflow(piece));
    if (to == piece.codeScroll)
        return false;
    piece.textAt.rx() -= to - piece.codeScroll;
    piece.codeScroll = to;
    return true;
}

int MessageLayout::pieceAt(qreal y) const
{
    for (int i = 0; i < pieceCount(); ++i)
        if (y < m_pieces[i].frame.bottom() + gap / 2)
            return i;
    return pieceCount() - 1;
}

} // namespace ui
