#pragma once

#include <QString>
#include <QStringList>
#include <QVector>
#include <Qt>

namespace models {

/// A run of characters with one look.
struct TextSpan
{
    enum Style { Plain = 0, Bold = 1, Italic = 2, Code = 4, Struck = 8, Link = 16 };
    QString text;
    int style = Plain;
    QString href; ///< Of a Link: http or https. Links with other schemes are shown as plain text.

    bool operator==(const TextSpan &) const = default;
};

using InlineText = QVector<TextSpan>;

/// One line of a list: its item, or a further paragraph of it (empty marker).
struct ListLine
{
    InlineText text;
    QString marker; ///< "•", "1.", "☐", "☑"
    int depth = 0;

    bool operator==(const ListLine &) const = default;
};

/// What the transcript draws as one piece. Only the members of its kind are set.
struct MarkdownBlock
{
    enum Kind { Prose, Heading, Code, Table, List, Rule };
    Kind kind = Prose;
    int quoteDepth = 0; ///< How many block quotes it stands in.
    int listDepth = 0; ///< Of prose and code inside a list item: its indentation.
    InlineText text; ///< Prose, Heading
    int level = 0; ///< Heading: 1 to 6
    QString code; ///< Code, without the last line end
    QString language; ///< Code: first word after the fence
    QVector<ListLine> lines; ///< List: one item of the outermost list, with what is nested in it
    QVector<QVector<InlineText>> rows; ///< Table; the first row is its head
    QVector<Qt::Alignment> columns; ///< Table

    bool operator==(const MarkdownBlock &) const = default;
};

QString plainText(const InlineText &text);
/// As it is copied and read aloud: lines, tabs between the cells of a table.
QString plainText(const MarkdownBlock &block);

/// GitHub's Markdown by md4c, without HTML (it stays text) and without pictures (their text becomes a link).
/// Never fails: any text is some Markdown. `text` beyond 4 MB is one block of prose.
QVector<MarkdownBlock> parseMarkdown(const QString &text);

/// Blocks of a text that is still coming. What stands before the last safe blank line is parsed once; only
/// the rest again at each append. finish() gives exactly parseMarkdown() of the whole, however the text was
/// cut.
class IncrementalMarkdown
{
public:
    void append(const QString &text);
    void finish();

    [[nodiscard]] const QVector<MarkdownBlock> &blocks() const { return m_blocks; }
    [[nodiscard]] const QString &text() const { return m_text; }
    /// The first block that the last append() or finish() may have changed; blocks before it are as they
    /// were.
    [[nodiscard]] int firstChanged() const { return m_firstChanged; }

private:
    void scanLines();
    void takeLine(qsizetype begin, qsizetype end);
    void setTail(QVector<MarkdownBlock> tail);

    QString m_text;
    QVector<MarkdownBlock> m_blocks;
    int m_settledBlocks = 0; // Blocks of the part before m_cut.
    qsizetype m_cut = 0; // Everything before is parsed for good.
    qsizetype m_scanned = 0; // Whole lines up to here have been looked at.
    qsizetype m_candidate = -1; // After a blank line that may become the cut.
    int m_firstChanged = 0;
    QChar m_fence; // '`' or '~' inside a fence, else null.
    int m_fenceLength = 0;
    bool m_fenceIsNested = false; // It stands in a list item or a quote.
};

} // namespace models
