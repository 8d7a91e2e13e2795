#include "models/chat/markdown_blocks.h"

#include <QHash>
#include <QUrl>
#include <md4c.h>

namespace models {
namespace {

constexpr qsizetype longestParsed = qsizetype(4) << 20;

/// Collects md4c's callbacks into blocks. md4c tells the tree; the blocks are flat, with depths.
class BlockCollector
{
public:
    int enterBlock(MD_BLOCKTYPE type, void *detail);
    int leaveBlock(MD_BLOCKTYPE type);
    int enterSpan(MD_SPANTYPE type, void *detail);
    int leaveSpan(MD_SPANTYPE type);
    int text(MD_TEXTTYPE type, const QString &text);

    QVector<MarkdownBlock> blocks;

private:
    struct OpenList
    {
        bool isOrdered = false;
        int next = 1;
        QChar delimiter;
    };

    MarkdownBlock &add(MarkdownBlock::Kind kind);
    void enterItem(const MD_BLOCK_LI_DETAIL *detail);
    void flush(); // What has come of a line belongs to the block that is open.
    void append(const QString &text);

    InlineText m_inline;
    QVector<OpenList> m_lists;
    QString m_marker; // Of the item whose first line has not come yet.
    int m_quoteDepth = 0;
    int m_bold = 0, m_italic = 0, m_code = 0, m_struck = 0;
    QStringList m_hrefs; // Of the links and pictures that are open; empty where they may not be opened.
    bool m_isNewItem = false; // The next line begins a block of its own.
    bool m_isCode = false;
};

MarkdownBlock &BlockCollector::add(MarkdownBlock::Kind kind)
{
    MarkdownBlock block;
    block.kind = kind;
    block.quoteDepth = m_quoteDepth;
    block.listDepth = static_cast<int>(m_lists.size());
    blocks.append(block);
    return blocks.last();
}

void BlockCollector::append(const QString &text)
{
    TextSpan span;
    span.text = text;
    span.style = (m_bold > 0 ? TextSpan::Bold : 0) | (m_italic > 0 ? TextSpan::Italic : 0)
        | (m_code > 0 ? TextSpan::Code : 0) | (m_struck > 0 ? TextSpan::Struck : 0);
    if (!m_hrefs.isEmpty() && !m_hrefs.last().isEmpty()) {
        span.style |= TextSpan::Link;
        span.href = m_hrefs.last();
    }
    if (!m_inline.isEmpty() && m_inline.last().style == span.style && m_inline.last().href == span.href)
        m_inline.last().text += text;
    else
        m_inline.append(span);
}

void BlockCollector::flush()
{
    if (m_inline.isEmpty() && m_marker.isEmpty())
        return;
    const int depth = static_cast<int>(m_lists.size());
    if (depth == 0) {
        add(MarkdownBlock::Prose).text = m_inline;
    } else {
        const bool goesOn = !m_isNewItem && !blocks.isEmpty() && blocks.last().kind == MarkdownBlock::List
            && blocks.last().quoteDepth == m_quoteDepth;
        MarkdownBlock &block = goesOn ? blocks.last() : add(MarkdownBlock::List);
        block.lines.append({m_inline, m_marker, depth - 1});
    }
    m_isNewItem = false;
    m_marker.clear();
    m_inline.clear();
}

void BlockCollector::enterItem(const MD_BLOCK_LI_DETAIL *detail)
{
    flush();
    OpenList &list = m_lists.last();
    m_isNewItem = m_isNewItem || m_lists.size() == 1;
    if (detail->is_task)
        m_marker = detail->task_mark == ' ' ? QString(QChar(0x2610)) : QString(QChar(0x2611));
    else if (list.isOrdered)
        m_marker = QString::number(list.next) + list.delimiter;
    else
        m_marker = QString(QChar(0x2022));
    ++list.next;
}

int BlockCollector::enterBlock(MD_BLOCKTYPE type, void *detail)
{
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush();
        ++m_quoteDepth;
        break;
    case MD_BLOCK_UL:
        flush();
        m_lists.append(OpenList{});
        break;
    case MD_BLOCK_OL: {
        flush();
        const auto *list = static_cast<const MD_BLOCK_OL_DETAIL *>(detail);
        m_lists.append({true, static_cast<int>(list->start), QLatin1Char(list->mark_delimiter)});
        break;
    }
    case MD_BLOCK_LI:
        enterItem(static_cast<const MD_BLOCK_LI_DETAIL *>(detail));
        break;
    case MD_BLOCK_CODE: {
        flush();
        const auto *code = static_cast<const MD_BLOCK_CODE_DETAIL *>(detail);
        add(MarkdownBlock::Code).language = QString::fromUtf8(code->lang.text, code->lang.size);
        m_isCode = true;
        break;
    }
    case MD_BLOCK_TABLE:
        flush();
        add(MarkdownBlock::Table);
        break;
    case MD_BLOCK_TR:
        blocks.last().rows.append(QVector<InlineText>());
        break;
    case MD_BLOCK_TH:
        if (blocks.last().rows.size() == 1) {
            const MD_ALIGN align = static_cast<const MD_BLOCK_TD_DETAIL *>(detail)->align;
            blocks.last().columns.append(align == MD_ALIGN_RIGHT        ? Qt::AlignRight
                                             : align == MD_ALIGN_CENTER ? Qt::AlignHCenter
                                                                        : Qt::AlignLeft);
        }
        break;
    case MD_BLOCK_H:
        flush();
        add(MarkdownBlock::Heading).level
            = static_cast<int>(static_cast<const MD_BLOCK_H_DETAIL *>(detail)->level);
        break;
    case MD_BLOCK_HR:
        flush();
        add(MarkdownBlock::Rule);
        break;
    default:
        break;
    }
    return 0;
}

int BlockCollector::leaveBlock(MD_BLOCKTYPE type)
{
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush();
        --m_quoteDepth;
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL:
        flush();
        m_lists.removeLast();
        break;
    case MD_BLOCK_LI:
    case MD_BLOCK_P:
        flush();
        break;
    case MD_BLOCK_H:
        blocks.last().text = m_inline;
        m_inline.clear();
        break;
    case MD_BLOCK_CODE:
        if (blocks.last().code.endsWith(QLatin1Char('\n')))
            blocks.last().code.chop(1);
        m_isCode = false;
        break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        blocks.last().rows.last().append(m_inline);
        m_inline.clear();
        break;
    default:
        break;
    }
    return 0;
}

int BlockCollector::enterSpan(MD_SPANTYPE type, void *detail)
{
    const auto allowed = [](const MD_ATTRIBUTE &attribute) {
        const QString href = QString::fromUtf8(attribute.text, attribute.size);
        const QString scheme = QUrl(href).scheme().toLower();
        return scheme == QLatin1String("http") || scheme == QLatin1String("https") ? href : QString();
    };
    switch (type) {
    case MD_SPAN_STRONG:
        ++m_bold;
        break;
    case MD_SPAN_EM:
        ++m_italic;
        break;
    case MD_SPAN_CODE:
        ++m_code;
        break;
    case MD_SPAN_DEL:
        ++m_struck;
        break;
    case MD_SPAN_A:
        m_hrefs.append(allowed(static_cast<const MD_SPAN_A_DETAIL *>(detail)->href));
        break;
    case MD_SPAN_IMG:
        m_hrefs.append(allowed(static_cast<const MD_SPAN_IMG_DETAIL *>(detail)->src));
        append(QStringLiteral("[") + QChar(0x25A1)
               + QLatin1Char(' ')); // A picture is not loaded, only named.
        break;
    default:
        break;
    }
    return 0;
}

int BlockCollector::leaveSpan(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_STRONG:
        --m_bold;
        break;
    case MD_SPAN_EM:
        --m_italic;
        break;
    case MD_SPAN_CODE:
        --m_code;
        break;
    case MD_SPAN_DEL:
        --m_struck;
        break;
    case MD_SPAN_IMG:
        append(QStringLiteral("]"));
        m_hrefs.removeLast();
        break;
    case MD_SPAN_A:
        m_hrefs.removeLast();
        break;
    default:
        break;
    }
    return 0;
}

/// The character of an entity. Only the common ones: others stay as they were written.
QString entityText(const QString &entity)
{
    static const QHash<QString, QString> known{
        {QStringLiteral("&amp;"), QStringLiteral("&")},    {QStringLiteral("&lt;"), QStringLiteral("<")},
        {QStringLiteral("&gt;"), QStringLiteral(">")},     {QStringLiteral("&quot;"), QStringLiteral("\"")},
        {QStringLiteral("&apos;"), QStringLiteral("'")},   {QStringLiteral("&nbsp;"), QString(QChar(0xA0))},
        {QStringLiteral("&times;"), QString(QChar(0xD7))}, {QStringLiteral("&deg;"), QString(QChar(0xB0))}};
    if (entity.startsWith(QLatin1String("&#"))) {
        const bool isHex = entity.size() > 3 && entity[2].toLower() == QLatin1Char('x');
        bool isNumber = false;
        const uint code
            = entity.mid(isHex ? 3 : 2, entity.size() - (isHex ? 4 : 3)).toUInt(&isNumber, isHex ? 16 : 10);
        if (isNumber && code > 0 && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF)) {
            const char32_t character = code;
            return QString::fromUcs4(&character, 1);
        }
    }
    return known.value(entity, entity);
}

int BlockCollector::text(MD_TEXTTYPE type, const QString &text)
{
    if (m_isCode) {
        blocks.last().code += text;
        return 0;
    }
    switch (type) {
    case MD_TEXT_BR:
        append(QString(QChar::LineSeparator));
        break;
    case MD_TEXT_SOFTBR:
        append(QStringLiteral(" "));
        break;
    case MD_TEXT_NULLCHAR:
        append(QString(QChar::ReplacementCharacter));
        break;
    case MD_TEXT_ENTITY:
        append(entityText(text));
        break;
    default:
        append(text);
        break;
    }
    return 0;
}

BlockCollector &collector(void *user)
{
    return *static_cast<BlockCollector *>(user);
}

} // namespace

QVector<MarkdownBlock> parseMarkdown(const QString &text)
{
    if (text.size() > longestParsed) {
        MarkdownBlock block;
        block.text.append({text, TextSpan::Plain, {}});
        return {block};
    }
    MD_PARSER parser{};
    parser.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS
        | MD_FLAG_PERMISSIVEURLAUTOLINKS;
    parser.enter_block = [](MD_BLOCKTYPE t, void *d, void *u) { return collector(u).enterBlock(t, d); };
    parser.leave_block = [](MD_BLOCKTYPE t, void *, void *u) { return collector(u).leaveBlock(t); };
    parser.enter_span = [](MD_SPANTYPE t, void *d, void *u) { return collector(u).enterSpan(t, d); };
    parser.leave_span = [](MD_SPANTYPE t, void *, void *u) { return collector(u).leaveSpan(t); };
    parser.text = [](MD_TEXTTYPE t, const MD_CHAR *s, MD_SIZE n, void *u) {
        return collector(u).text(t, QString::fromUtf8(s, n));
    };
    BlockCollector result;
    const QByteArray utf8 = text.toUtf8();
    md_parse(utf8.constData(), static_cast<MD_SIZE>(utf8.size()), &parser, &result);
    return result.blocks;
}

} // namespace models
