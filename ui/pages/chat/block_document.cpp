#include "ui/pages/chat/block_document.h"

#include "ui/pages/chat/code_colors.h"
#include "ui/theme/theme.h"
#include <QAbstractTextDocumentLayout>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>
#include <QTextTable>

namespace ui {
namespace {

constexpr int lineHeight = 20; // px at 100 %, as the mock has it
constexpr int listIndent = 20;

QTextBlockFormat paragraph(const Theme &theme)
{
    QTextBlockFormat format;
    format.setLineHeight(lineHeight * theme.zoom() / 100.0, QTextBlockFormat::MinimumHeight);
    return format;
}

/// Numbers stand in Hack, so that the digits of a column align.
bool looksLikeNumber(const QString &text)
{
    return !text.isEmpty() && (text[0].isDigit() || (text.size() > 1 && text[1].isDigit()));
}

/// Only text at the end is new, so that the rest need not be built again.
bool isLongerProse(const models::MarkdownBlock &shown, const models::MarkdownBlock &block)
{
    const qsizetype last = shown.text.size() - 1;
    if (shown.kind != models::MarkdownBlock::Prose || block.kind != models::MarkdownBlock::Prose || last < 0
        || block.text.size() <= last || shown.quoteDepth != block.quoteDepth
        || shown.listDepth != block.listDepth)
        return false;
    for (qsizetype i = 0; i < last; ++i)
        if (shown.text[i] != block.text[i])
            return false;
    return shown.text[last].style == block.text[last].style && shown.text[last].href == block.text[last].href
        && block.text[last].text.startsWith(shown.text[last].text);
}

} // namespace

BlockDocument::BlockDocument(const Theme &theme) : m_theme(theme)
{
    setUndoRedoEnabled(false);
    setDocumentMargin(0);
    setDefaultFont(theme.font(Theme::FontRole::Body));
    QTextOption option = defaultTextOption();
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    setDefaultTextOption(option);
}

QVariant BlockDocument::loadResource(int, const QUrl &)
{
    return {};
}

void BlockDocument::setBlock(const models::MarkdownBlock &block)
{
    using models::MarkdownBlock;
    const bool isLongerCode = m_block.kind == MarkdownBlock::Code && block.kind == MarkdownBlock::Code
        && !m_block.code.isEmpty() && block.language == m_block.language
        && block.code.startsWith(m_block.code);
    if (isLongerCode) {
        const QString added = block.code;
        const qsizetype lineBegin = m_block.code.lastIndexOf(QLatin1Char('\n')) + 1;
        m_block = block;
        QTextCursor cursor(this);
        cursor.setPosition(static_cast<int>(lineBegin));
        cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
        cursor.removeSelectedText();
        appendCode(added.mid(lineBegin));
        return;
    }
    if (isLongerProse(m_block, block)) {
        appendProse(block);
        return;
    }
    m_block = block;
    build();
}

void BlockDocument::appendProse(const models::MarkdownBlock &block)
{
    const qsizetype last = m_block.text.size() - 1;
    models::InlineText added = block.text.mid(last);
    added.first().text.remove(0, m_block.text[last].text.size());
    if (added.first().text.isEmpty())
        added.removeFirst();
    m_block = block;
    QTextCursor cursor(this);
    cursor.movePosition(QTextCursor::End);
    insertInline(cursor, added);
}

void BlockDocument::build()
{
    using models::MarkdownBlock;
    clear();
    QTextCursor cursor(this);
    switch (m_block.kind) {
    case MarkdownBlock::Prose:
        cursor.setBlockFormat(paragraph(m_theme));
        insertInline(cursor, m_block.text);
        break;
    case MarkdownBlock::Heading:
        cursor.setBlockFormat(paragraph(m_theme));
        insertInline(cursor, m_block.text, true);
        break;
    case MarkdownBlock::Code: {
        setDefaultFont(m_theme.font(Theme::FontRole::Mono));
        // Lines of code stay whole: what is wider than the frame is scrolled, not broken.
        QTextOption option = defaultTextOption();
        option.setWrapMode(QTextOption::NoWrap);
        setDefaultTextOption(option);
        QTextBlockFormat format;
        format.setLineHeight(18 * m_theme.zoom() / 100.0, QTextBlockFormat::MinimumHeight);
        cursor.setBlockFormat(format);
        appendCode(m_block.code);
        break;
    }
    case MarkdownBlock::Table:
        buildTable();
        break;
    case MarkdownBlock::List:
        buildList();
        break;
    case MarkdownBlock::Rule:
        break;
    }
    // Keeps the glyphs from layout to paint, and from paint to paint.
    for (QTextBlock line = begin(); line.isValid(); line = line.next())
        line.layout()->setCacheEnabled(true);
}

void BlockDocument::appendCode(const QString &code)
{
    QTextCursor cursor(this);
    cursor.movePosition(QTextCursor::End);
    bool isFirst = true;
    for (const QString &line : code.split(QLatin1Char('\n'))) {
        if (!isFirst)
            cursor.insertBlock();
        isFirst = false;
        for (const CodePiece &piece : colorLine(line, m_block.language)) {
            QTextCharFormat format;
            format.setFont(m_theme.font(Theme::FontRole::Mono));
            format.setForeground(m_theme.color(QString::fromLatin1(piece.color)));
            cursor.insertText(piece.text, format);
        }
    }
}

void BlockDocument::insertInline(QTextCursor &cursor, const models::InlineText &text, bool isBold)
{
    using models::TextSpan;
    for (const TextSpan &span : text) {
        QTextCharFormat format; // Body text has the document's own font: asking for a font is dear.
        if (span.style & TextSpan::Code)
            format.setFont(m_theme.font(Theme::FontRole::Mono));
        else if (isBold)
            format.setFont(m_theme.font(Theme::FontRole::Section));
        format.setForeground(m_theme.color(QStringLiteral("text")));
        if (isBold || (span.style & TextSpan::Bold))
            format.setFontWeight(QFont::DemiBold);
        if (span.style & TextSpan::Italic)
            format.setFontItalic(true);
        if (span.style & TextSpan::Struck)
            format.setFontStrikeOut(true);
        if (span.style & TextSpan::Code)
            format.setBackground(m_theme.color(QStringLiteral("bg.raised")));
        if (span.style & TextSpan::Link) {
            format.setAnchor(true);
            format.setAnchorHref(span.href);
            format.setForeground(m_theme.color(QStringLiteral("link")));
            format.setFontUnderline(true);
            format.setToolTip(span.href);
        }
        cursor.insertText(span.text, format);
    }
}

void BlockDocument::buildList()
{
    QTextCursor cursor(this);
    bool isFirst = true;
    for (const models::ListLine &line : m_block.lines) {
        QTextBlockFormat format = paragraph(m_theme);
        // The marker hangs in the indentation; a tab brings the text to its edge.
        const qreal edge = listIndent * (line.depth + 1) * m_theme.zoom() / 100.0;
        format.setLeftMargin(edge);
        format.setTextIndent(line.marker.isEmpty() ? 0 : -listIndent * m_theme.zoom() / 100.0);
        format.setTabPositions({QTextOption::Tab(listIndent * m_theme.zoom() / 100.0, QTextOption::LeftTab)});
        if (isFirst)
            cursor.setBlockFormat(format);
        else
            cursor.insertBlock(format);
        isFirst = false;
        if (!line.marker.isEmpty()) {
            QTextCharFormat marker;
            marker.setForeground(m_theme.color(QStringLiteral("text.2")));
            cursor.insertText(line.marker + QLatin1Char('\t'), marker);
        }
        insertInline(cursor, line.text);
    }
}

void BlockDocument::buildTable()
{
    if (m_block.rows.isEmpty() || m_block.columns.isEmpty())
        return;
    const int rows = static_cast<int>(m_block.rows.size());
    const int columns = static_cast<int>(m_block.columns.size());
    QTextTableFormat format;
    format.setBorder(0);
    format.setBorderCollapse(true);
    format.setCellPadding(5);
    format.setCellSpacing(0);
    format.setMargin(0);
    format.setWidth(QTextLength(QTextLength::PercentageLength, 100));
    QTextCursor cursor(this);
    QTextTable *table = cursor.insertTable(rows, columns, format);
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns && column < m_block.rows[row].size(); ++column) {
            QTextTableCell cell = table->cellAt(row, column);
            QTextTableCellFormat cellFormat;
            if (row + 1 < rows) {
                cellFormat.setBottomBorder(1);
                cellFormat.setBottomBorderStyle(QTextFrameFormat::BorderStyle_Solid);
                cellFormat.setBottomBorderBrush(
                    m_theme.color(row == 0 ? QStringLiteral("line.control") : QStringLiteral("line")));
            }
            cellFormat.setPadding(5);
            cellFormat.setLeftPadding(12);
            cellFormat.setRightPadding(12);
            cell.setFormat(cellFormat);
            QTextCursor inside = cell.firstCursorPosition();
            QTextBlockFormat align;
            align.setAlignment(m_block.columns[column] | Qt::AlignAbsolute);
            inside.setBlockFormat(align);
            models::InlineText text = m_block.rows[row][column];
            if (row > 0 && (m_block.columns[column] & Qt::AlignRight) && looksLikeNumber(plainText(text))) {
                QTextCharFormat mono;
                mono.setFont(m_theme.font(Theme::FontRole::Mono));
                mono.setForeground(m_theme.color(QStringLiteral("text")));
                inside.insertText(plainText(text), mono);
            } else if (row == 0) {
                QTextCharFormat head;
                head.setFont(m_theme.font(Theme::FontRole::Secondary));
                head.setFontWeight(QFont::Medium);
                head.setForeground(m_theme.color(QStringLiteral("text.2")));
                inside.insertText(plainText(text), head);
            } else {
                insertInline(inside, text);
            }
        }
    }
}

QString BlockDocument::linkAt(const QPointF &point) const
{
    return documentLayout()->anchorAt(point);
}

} // namespace ui
