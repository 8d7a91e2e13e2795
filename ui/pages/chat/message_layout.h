#pragma once

#include "models/chat/conversation.h"
#include "models/chat/markdown_blocks.h"
#include "ui/pages/chat/answer_footer.h"
#include "ui/pages/chat/block_document.h"
#include <QRectF>
#include <QVector>
#include <memory>
#include <vector>

class QPainter;

namespace ui {

/// What can be pressed in a message.
struct MessageControl
{
    enum Kind {
        ToggleReasoning,
        CopyCode,
        CopyMessage,
        Regenerate,
        Edit,
        PreviousVersion,
        NextVersion,
        Stop
    };
    Kind kind = CopyMessage;
    int piece = -1; ///< Of CopyCode
    QRectF rect; ///< Within the message
    QString text; ///< Beside the icon; may be empty
    QString name; ///< For tooltip and screen reader
    const char *icon = "copy";
};

/// A place in the text of the transcript, in reading order.
struct TextPlace
{
    int message = -1;
    int piece = 0;
    int position = 0;

    [[nodiscard]] bool isValid() const { return message >= 0; }
    auto operator<=>(const TextPlace &) const = default;
};

/// One message laid out for a width: its documents, where they stand, and what can be pressed.
class MessageLayout
{
public:
    explicit MessageLayout(const Theme &theme) : m_theme(theme) {}

    /// Shows `message`; text that was only added is added. `footer` belongs to an answer.
    void setMessage(const models::ChatMessage &message, const AnswerFooter &footer);
    void setFooter(const AnswerFooter &footer)
    {
        m_footer = footer;
    } ///< Takes the same room as the one before.
    [[nodiscard]] const QRectF &footerRect() const { return m_footerRect; }
    /// Top of the first piece that the last setMessage() touched: above it nothing has to be painted again.
    [[nodiscard]] qreal changedFrom() const { return m_changedFrom; }
    void setReasoningOpen(bool open);
    [[nodiscard]] bool isReasoningOpen() const { return m_isReasoningOpen; }
    void resize(qreal width);

    [[nodiscard]] qreal height() const { return m_height; }
    [[nodiscard]] const QVector<MessageControl> &controls() const { return m_controls; }
    [[nodiscard]] const models::ChatMessage &message() const { return m_message; }

    // The pieces are the documents in reading order: reasoning where it is open, then the answer.
    [[nodiscard]] int pieceCount() const { return static_cast<int>(m_pieces.size()); }
    [[nodiscard]] BlockDocument &document(int piece) const { return *m_pieces[piece].document; }
    [[nodiscard]] QPointF textOrigin(int piece) const { return m_pieces[piece].textAt; }
    /// Code keeps its lines whole; what is wider than its frame is scrolled. False: nothing moved.
    bool scrollCode(int piece, qreal by);
    /// The piece nearest to `y`; -1 if there is none.
    [[nodiscard]] int pieceAt(qreal y) const;

    struct Look
    {
        QRectF exposed; ///< What has to be painted, within the message
        TextPlace selectionBegin; ///< Both within this message, or invalid.
        TextPlace selectionEnd;
        int hovered = -1; ///< Index of a control
        int focused = -1;
        qreal turn = 0; ///< Of the ring of a running answer
        bool isCurrent = false;
        bool hasCursor = false; ///< The block at the end of a text that is coming
    };
    void paint(QPainter &painter, const Look &look) const;

private:
    struct Piece
    {
        std::unique_ptr<BlockDocument> document;
        QRectF frame;
        QPointF textAt;
        bool isReasoning = false;
        qreal codeScroll = 0; // Pixels that the code has been moved to the left
    };

    void updatePieces();
    void syncPieces(std::vector<Piece> &pieces, const QVector<models::MarkdownBlock> &blocks,
                    int firstChanged);
    void place();
    qreal placePiece(Piece &piece, qreal y, qreal left, qreal width);
    qreal placeHead(qreal y);
    qreal placeFooter(qreal y);
    void addControl(MessageControl control) { m_controls.append(std::move(control)); }
    void paintHead(QPainter &painter) const;
    void paintReasoningHead(QPainter &painter, const Look &look) const;
    void paintPiece(QPainter &painter, int index, const Look &look) const;
    void paintCodeScroll(QPainter &painter, const Piece &piece) const;
    [[nodiscard]] static qreal codeOverflow(const Piece &piece);
    void paintFooter(QPainter &painter, const Look &look) const;
    void paintControl(QPainter &painter, int index, const Look &look) const;
    void paintCursor(QPainter &painter) const;
    [[nodiscard]] bool isUser() const { return m_message.role == models::ChatRole::User; }
    [[nodiscard]] QString reasoningTitle() const;

    const Theme &m_theme;
    models::ChatMessage m_message;
    AnswerFooter m_footer;
    models::IncrementalMarkdown m_content;
    models::IncrementalMarkdown m_reasoning;
    std::vector<Piece> m_pieces;
    int m_reasoningPieces = 0; // How many of m_pieces, at their begin, are reasoning.
    QVector<MessageControl> m_controls;
    QRectF m_reasoningHead;
    QRectF m_footerRect;
    qreal m_changedFrom = 0;
    qreal m_headY = 0;
    qreal m_width = 0;
    qreal m_height = 0;
    bool m_isReasoningOpen = false;
};

} // namespace ui
