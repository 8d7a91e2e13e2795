#include "models/chat/markdown_blocks.h"

#include <algorithm>

namespace models {
namespace {

bool isListStart(QStringView line)
{
    if (line.isEmpty())
        return false;
    if (line[0] == QLatin1Char('-') || line[0] == QLatin1Char('*') || line[0] == QLatin1Char('+'))
        return line.size() == 1 || line[1].isSpace();
    qsizetype digits = 0;
    while (digits < line.size() && line[digits].isDigit())
        ++digits;
    return digits > 0 && digits < line.size()
        && (line[digits] == QLatin1Char('.') || line[digits] == QLatin1Char(')'));
}

/// The line without the marks of quotes and list items in front of it; `isNested` says whether there were
/// any.
QStringView withoutMarkers(QStringView line, bool &isNested)
{
    isNested = false;
    for (;;) {
        qsizetype spaces = 0;
        while (spaces < line.size() && line[spaces].isSpace())
            ++spaces;
        isNested = isNested || spaces > 0;
        line = line.mid(spaces);
        if (line.startsWith(QLatin1Char('>'))) {
            line = line.mid(1);
        } else if (isListStart(line)) {
            qsizetype marker = 0;
            while (marker < line.size() && !line[marker].isSpace())
                ++marker;
            line = line.mid(marker);
        } else {
            return line;
        }
        isNested = true;
    }
}

int fenceLengthOf(QStringView line)
{
    if (line.isEmpty() || (line[0] != QLatin1Char('`') && line[0] != QLatin1Char('~')))
        return 0;
    qsizetype length = 0;
    while (length < line.size() && line[length] == line[0])
        ++length;
    if (length < 3 || (line[0] == QLatin1Char('`') && line.mid(length).contains(QLatin1Char('`'))))
        return 0;
    return static_cast<int>(length);
}

} // namespace

QString plainText(const InlineText &text)
{
    QString plain;
    for (const TextSpan &span : text)
        plain += span.text;
    return plain;
}

QString plainText(const MarkdownBlock &block)
{
    QString plain;
    switch (block.kind) {
    case MarkdownBlock::Prose:
    case MarkdownBlock::Heading:
        return plainText(block.text);
    case MarkdownBlock::Code:
        return block.code;
    case MarkdownBlock::Rule:
        return QStringLiteral("---");
    case MarkdownBlock::List:
        for (const ListLine &line : block.lines)
            plain += QString(line.depth * 2, QLatin1Char(' '))
                + (line.marker.isEmpty() ? QString() : line.marker + QLatin1Char(' ')) + plainText(line.text)
                + QLatin1Char('\n');
        break;
    case MarkdownBlock::Table:
        for (const auto &row : block.rows) {
            for (int column = 0; column < row.size(); ++column)
                plain += (column > 0 ? QStringLiteral("\t") : QString()) + plainText(row[column]);
            plain += QLatin1Char('\n');
        }
        break;
    }
    plain.chop(1);
    return plain;
}

void IncrementalMarkdown::append(const QString &text)
{
    m_text += text;
    const int settledBefore = m_settledBlocks;
    const qsizetype cutBefore = m_cut;
    scanLines();
    if (m_cut != cutBefore) {
        setTail(parseMarkdown(m_text.mid(cutBefore, m_cut - cutBefore)));
        const int changed = m_firstChanged;
        m_settledBlocks = static_cast<int>(m_blocks.size());
        setTail(parseMarkdown(m_text.mid(m_cut)));
        m_firstChanged = std::min(changed, m_firstChanged);
    } else {
        setTail(parseMarkdown(m_text.mid(m_cut)));
    }
    m_firstChanged = std::max(m_firstChanged, settledBefore);
}

void IncrementalMarkdown::finish()
{
    m_settledBlocks = 0;
    m_cut = 0;
    setTail(parseMarkdown(m_text));
}

void IncrementalMarkdown::setTail(QVector<MarkdownBlock> tail)
{
    qsizetype same = 0;
    while (same < tail.size() && m_settledBlocks + same < m_blocks.size()
           && m_blocks[m_settledBlocks + same] == tail[same])
        ++same;
    m_firstChanged = m_settledBlocks + static_cast<int>(same);
    m_blocks.resize(m_firstChanged);
    for (qsizetype i = same; i < tail.size(); ++i)
        m_blocks.append(std::move(tail[i]));
}

void IncrementalMarkdown::scanLines()
{
    for (;;) {
        const qsizetype end = m_text.indexOf(QLatin1Char('\n'), m_scanned);
        if (end < 0)
            return;
        takeLine(m_scanned, end);
        m_scanned = end + 1;
    }
}

void IncrementalMarkdown::takeLine(qsizetype begin, qsizetype end)
{
    const QStringView line = QStringView(m_text).mid(begin, end - begin);
    const bool isBlank = line.trimmed().isEmpty();
    bool isNested = false;
    const QStringView content = withoutMarkers(line, isNested);
    if (!m_fence.isNull()) {
        const bool isLeft
            = m_fenceIsNested && !isBlank && !isNested; // The item or quote around it has ended.
        const bool isClosing = content.startsWith(m_fence) && fenceLengthOf(content) >= m_fenceLength
            && content.trimmed().count(m_fence) == content.trimmed().size();
        if (isLeft || isClosing)
            m_fence = QChar();
        if (!isLeft)
            return;
    }
    if (isBlank) {
        m_candidate = end + 1;
        return;
    }
    // A blank line parts two blocks for good only if the next line can't go on with a list or an indented
    // code.
    if (m_candidate >= 0 && !line[0].isSpace() && !isListStart(line))
        m_cut = begin;
    m_candidate = -1;
    if (const int length = fenceLengthOf(content)) {
        m_fence = content[0];
        m_fenceLength = length;
        m_fenceIsNested = isNested;
    }
}

} // namespace models
