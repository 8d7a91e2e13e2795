// How a message is painted; how it is laid out is in message_layout.cpp.
#include "ui/pages/chat/message_layout.h"

#include "ui/pages/chat/painted_icon.h"
#include "ui/theme/theme.h"
#include "ui/widgets/state_label.h"
#include <QAbstractTextDocumentLayout>
#include <QCoreApplication>
#include <QLocale>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>

namespace ui {
namespace {

constexpr qreal padding = 12;
constexpr qreal codeHead = 27;

QString tr(const char *text)
{
    return QCoreApplication::translate("ui::MessageLayout", text);
}

qreal drawText(QPainter &painter, const QFont &font, const QColor &color, QPointF left, qreal height,
               const QString &text)
{
    painter.setFont(font);
    painter.setPen(color);
    const qreal width = QFontMetricsF(font).horizontalAdvance(text);
    painter.drawText(QRectF(left.x(), left.y(), width + 2, height),
                     Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, text);
    return left.x() + width;
}

void drawFrame(QPainter &painter, const QRectF &rect, const QColor &fill, const QColor &line, qreal radius)
{
    painter.setPen(line);
    painter.setBrush(fill);
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
}

} // namespace

void MessageLayout::paint(QPainter &painter, const Look &look) const
{
    painter.setRenderHint(QPainter::Antialiasing);
    if (isUser()) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(m_theme.color(QStringLiteral("bg.raised")));
        painter.drawRoundedRect(QRectF(0, 0, m_width, m_height), 6, 6);
    }
    // Text is shaped each time it is drawn, so what is not exposed is not even tried: an answer may be pages
    // long.
    const auto isExposed = [&look](qreal top, qreal bottom) {
        return bottom >= look.exposed.top() && top <= look.exposed.bottom();
    };
    if (isExposed(0, m_headY + 20))
        paintHead(painter);
    if (!m_reasoningHead.isNull() && isExposed(m_reasoningHead.top(), m_reasoningHead.bottom()))
        paintReasoningHead(painter, look);
    for (int i = 0; i < pieceCount(); ++i)
        if (isExposed(m_pieces[i].frame.top(), m_pieces[i].frame.bottom()))
            paintPiece(painter, i, look);
    if (look.hasCursor)
        paintCursor(painter);
    if (!isUser() && isExposed(m_footerRect.top(), m_footerRect.bottom()))
        paintFooter(painter, look);
    for (int i = 0; i < m_controls.size(); ++i)
        if (isExposed(m_controls[i].rect.top(), m_controls[i].rect.bottom()))
            paintControl(painter, i, look);
}

void MessageLayout::paintHead(QPainter &painter) const
{
    const QColor hint = m_theme.color(isUser() ? QStringLiteral("text.3") : QStringLiteral("text.2"));
    QFont name = m_theme.font(Theme::FontRole::Body);
    name.setWeight(QFont::DemiBold);
    qreal x = padding;
    if (!isUser()) {
        paintIcon(painter, QRect(int(x), int(m_headY) + 3, 14, 14), QStringLiteral("gke"), m_theme);
        x += 22;
    }
    const QString who = isUser() ? tr("You") : m_message.model;
    x = drawText(painter, name, m_theme.color(QStringLiteral("text")), {x, m_headY}, 20, who);
    const QFont small = m_theme.font(Theme::FontRole::Secondary);
    drawText(painter, small, hint, {x + 8, m_headY}, 20,
             QLocale().toString(m_message.created.time(), QStringLiteral("HH:mm:ss")));
    for (const MessageControl &control : m_controls)
        if (control.kind == MessageControl::NextVersion) {
            painter.setFont(small);
            painter.setPen(hint);
            painter.drawText(QRectF(control.rect.left() - 44, m_headY, 44, 20), Qt::AlignCenter,
                             tr("%1 of %2").arg(m_message.variant).arg(m_message.variantCount));
        }
}

void MessageLayout::paintReasoningHead(QPainter &painter, const Look &) const
{
    drawFrame(painter, m_reasoningHead, Qt::transparent, m_theme.color(QStringLiteral("line")), 4);
    const int y = int(m_reasoningHead.top()) + 7;
    const int x = int(m_reasoningHead.left());
    paintIcon(painter, QRect(x + 10, y, 14, 14),
              m_isReasoningOpen ? QStringLiteral("chevd") : QStringLiteral("chev"), m_theme);
    paintIcon(painter, QRect(x + 32, y, 14, 14), QStringLiteral("brain"), m_theme);
    const QFont small = m_theme.font(Theme::FontRole::Secondary);
    const qreal end = drawText(painter, small, m_theme.color(QStringLiteral("text.2")),
                               {m_reasoningHead.left() + 54, m_reasoningHead.top()}, 28, reasoningTitle());
    if (const auto &tokens = m_message.measurements.reasoningTokens)
        drawText(painter, small, m_theme.color(QStringLiteral("text.3")), {end + 8, m_reasoningHead.top()},
                 28, tr("%1 tokens").arg(QLocale().toString(*tokens)));
}

void MessageLayout::paintPiece(QPainter &painter, int index, const Look &look) const
{
    const Piece &piece = m_pieces[index];
    const models::MarkdownBlock &block = piece.document->block();
    const QColor line = m_theme.color(QStringLiteral("line"));
    for (int depth = 0; depth < std::min(block.quoteDepth, 4); ++depth)
        painter.fillRect(
            QRectF(piece.frame.left() - 14 * (depth + 1) + 2, piece.frame.top(), 3, piece.frame.height()),
            m_theme.color(QStringLiteral("line.control")));
    if (piece.isReasoning)
        painter.fillRect(QRectF(padding, piece.frame.top(), 2, piece.frame.height()), line);
    if (block.kind == models::MarkdownBlock::Rule) {
        painter.fillRect(QRectF(piece.frame.left(), piece.frame.center().y(), piece.frame.width(), 1), line);
        return;
    }
    if (block.kind == models::MarkdownBlock::Code) {
        drawFrame(painter, piece.frame, m_theme.color(QStringLiteral("bg.input")), line, 4);
        const QRectF head(piece.frame.left() + 1, piece.frame.top() + 1, piece.frame.width() - 2,
                          codeHead - 1);
        painter.fillRect(head, m_theme.color(QStringLiteral("bg.raised")));
        drawText(painter, m_theme.font(Theme::FontRole::Secondary), m_theme.color(QStringLiteral("text.2")),
                 {head.left() + 10, head.top()}, codeHead - 1,
                 block.language.isEmpty() ? tr("code") : block.language);
    } else if (block.kind == models::MarkdownBlock::Table) {
        drawFrame(painter, piece.frame, Qt::transparent, line, 0);
    }
    QAbstractTextDocumentLayout::PaintContext context;
    context.palette.setColor(QPalette::Text, m_theme.color(QStringLiteral("text")));
    if (look.selectionBegin.isValid() && index >= look.selectionBegin.piece
        && index <= look.selectionEnd.piece) {
        QAbstractTextDocumentLayout::Selection selection;
        selection.cursor = QTextCursor(piece.document.get());
        const int last = piece.document->characterCount() - 1;
        selection.cursor.setPosition(
            index == look.selectionBegin.piece ? std::min(look.selectionBegin.position, last) : 0);
        selection.cursor.setPosition(
            index == look.selectionEnd.piece ? std::min(look.selectionEnd.position, last) : last,
            QTextCursor::KeepAnchor);
        selection.format.setBackground(m_theme.color(QStringLiteral("accent")));
        selection.format.setForeground(m_theme.color(QStringLiteral("text.onAccent")));
        context.selections.append(selection);
    }
    painter.save();
    if (block.kind == models::MarkdownBlock::Code && codeOverflow(piece) > 0)
        painter.setClipRect(piece.frame.adjusted(2, codeHead, -2, -2), Qt::IntersectClip);
    painter.translate(piece.textAt);
    piece.document->documentLayout()->draw(&painter, context);
    painter.restore();
    if (block.kind == models::MarkdownBlock::Code)
        paintCodeScroll(painter, piece);
}

void MessageLayout::paintCodeScroll(QPainter &painter, const Piece &piece) const
{
    const qreal overflow = codeOverflow(piece);
    if (overflow <= 0)
        return;
    const QRectF track(piece.frame.left() + 4, piece.frame.bottom() - 7, piece.frame.width() - 8, 4);
    const qreal whole = piece.document->size().width() + 22;
    const qreal length = std::max<qreal>(24, track.width() * piece.frame.width() / whole);
    const qreal left = track.left() + (track.width() - length) * piece.codeScroll / overflow;
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_theme.color(QStringLiteral("line.control")));
    painter.drawRoundedRect(QRectF(left, track.top(), length, track.height()), 2, 2);
}

void MessageLayout::paintCursor(QPainter &painter) const
{
    QPointF at(padding, m_footerRect.top() - 24);
    if (pieceCount() > 0) {
        const Piece &piece = m_pieces.back();
        const QTextBlock block = piece.document->lastBlock();
        const QTextLayout *layout = block.layout();
        if (piece.document->block().kind == models::MarkdownBlock::Table || layout->lineCount() == 0)
            return;
        const QTextLine textLine = layout->lineAt(layout->lineCount() - 1);
        const QPointF origin
            = piece.textAt + piece.document->documentLayout()->blockBoundingRect(block).topLeft();
        at = QPointF(origin.x() + textLine.cursorToX(block.length() - 1) + 3,
                     origin.y() + textLine.y() + textLine.height() / 2 - 7);
    }
    painter.fillRect(QRectF(at, QSizeF(8, 15)), m_theme.color(QStringLiteral("accent")));
}

void MessageLayout::paintFooter(QPainter &painter, const Look &look) const
{
    const QFont small = m_theme.font(Theme::FontRole::Secondary);
    const QFont mono = m_theme.font(Theme::FontRole::Mono);
    const QColor weak = m_theme.color(QStringLiteral("text.2"));
    const QColor strong = m_theme.color(QStringLiteral("text"));
    const qreal y = m_footerRect.top();
    const qreal height = m_footerRect.height() - 2;
    qreal x = m_footerRect.left();
    const auto paintStateWord = [&] {
        if (m_footer.state == State::None)
            return;
        paintState(painter, QRect(int(x), int(y + height / 2) - 6, 12, 12), m_footer.state, m_theme,
                   look.turn);
        x = drawText(painter, small, weak, {x + 19, y}, height, m_footer.word) + 14;
    };
    const bool isRunning = m_message.state == models::MessageState::Streaming;
    if (isRunning)
        paintStateWord();
    for (const FooterPart &part : m_footer.parts) {
        const qreal needed = QFontMetricsF(small).horizontalAdvance(part.label)
            + QFontMetricsF(mono).horizontalAdvance(part.value) + 18;
        if (x + needed > m_footerRect.right() - 110)
            break; // Narrow window: the rest stands in the card "This answer".
        if (part.isValueFirst) {
            x = drawText(painter, mono, strong, {x, y}, height, part.value) + 4;
            x = drawText(painter, small, weak, {x, y}, height, part.label) + 14;
        } else {
            x = drawText(painter, small, weak, {x, y}, height, part.label) + 4;
            x = drawText(painter, mono, strong, {x, y}, height, part.value) + 14;
        }
    }
    if (!isRunning)
        paintStateWord();
}

void MessageLayout::paintControl(QPainter &painter, int index, const Look &look) const
{
    const MessageControl &control = m_controls[index];
    const bool isHovered = index == look.hovered;
    const bool isFramed = control.kind == MessageControl::Stop;
    if (isFramed)
        drawFrame(painter, control.rect,
                  m_theme.color(isHovered ? QStringLiteral("bg.hover") : QStringLiteral("bg.raised")),
                  m_theme.color(QStringLiteral("line.control")), 4);
    else if (isHovered && control.kind != MessageControl::ToggleReasoning)
        drawFrame(painter, control.rect, m_theme.color(QStringLiteral("bg.hover")), Qt::transparent, 4);
    if (index == look.focused) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(m_theme.color(QStringLiteral("focus")), 2));
        painter.drawRoundedRect(control.rect.adjusted(1, 1, -1, -1), 4, 4);
    }
    if (control.kind == MessageControl::ToggleReasoning)
        return;
    const QSize size(14, 14);
    if (control.text.isEmpty()) {
        const QRectF at(control.rect.center() - QPointF(7, 7), size);
        if (control.kind == MessageControl::PreviousVersion) { // The same chevron, turned around.
            painter.save();
            painter.translate(control.rect.center());
            painter.rotate(180);
            paintIcon(painter, QRect(-7, -7, 14, 14), QString::fromLatin1(control.icon), m_theme);
            painter.restore();
            return;
        }
        paintIcon(painter, at.toRect(), QString::fromLatin1(control.icon), m_theme);
        return;
    }
    const QRectF at(QPointF(control.rect.left() + 8, control.rect.center().y() - 7), size);
    paintIcon(painter, at.toRect(), QString::fromLatin1(control.icon), m_theme);
    drawText(painter, m_theme.font(Theme::FontRole::Secondary), m_theme.color(QStringLiteral("text")),
             {control.rect.left() + 28, control.rect.top()}, control.rect.height(), control.text);
}

} // namespace ui
