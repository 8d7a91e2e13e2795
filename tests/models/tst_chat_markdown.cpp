#include "models/chat/markdown_blocks.h"
#include <QElapsedTimer>
#include <QTest>

using namespace models;

namespace {

const QString everyKind
    = QStringLiteral("# Head *one*\n\nSome **bold**, `code`, ~~old~~ and [a link](https://example.org/x).\n"
                     "soft line\n\n- one\n- two\n\n  more of two\n\n  ```py\n  a = 1\n\n  b = 2\n  ```\n  - "
                     "nested\n- three\n\n"
                     "1. first\n2. second\n\nBetween.\n\n```bash\nvllm serve x \\\n\n  --flag 8\n```\n\n"
                     "> quoted\n>\n> ```\n> in quote\n> ```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n| x | y "
                     "|\n\n---\n\n    indented\n\n    code\n\n"
                     "Last 中文 \U0001F600 text with <b>html</b> and ![pic](file:///etc/passwd) end");

QStringList describe(const QVector<MarkdownBlock> &blocks)
{
    QStringList lines;
    for (const MarkdownBlock &block : blocks)
        lines += QStringLiteral("%1/%2/%3 %4")
                     .arg(block.kind)
                     .arg(block.quoteDepth)
                     .arg(block.listDepth)
                     .arg(plainText(block));
    return lines;
}

} // namespace

class ChatMarkdownTest : public QObject
{
    Q_OBJECT

private slots:
    void everyKindOfBlockIsFound()
    {
        const auto blocks = parseMarkdown(everyKind);
        QVector<int> kinds;
        for (const MarkdownBlock &block : blocks)
            kinds += block.kind;
        using B = MarkdownBlock;
        QCOMPARE(
            kinds,
            (QVector<int>{B::Heading, B::Prose, B::List, B::List, B::Code, B::List, B::List, B::List, B::List,
                          B::Prose, B::Code, B::Prose, B::Code, B::Table, B::Rule, B::Code, B::Prose}));
        QCOMPARE(blocks[10].language, QStringLiteral("bash"));
        QCOMPARE(blocks[10].code, QStringLiteral("vllm serve x \\\n\n  --flag 8"));
        QCOMPARE(blocks[4].code, QStringLiteral("a = 1\n\nb = 2"));
        QCOMPARE(blocks[11].quoteDepth, 1);
        QCOMPARE(blocks[12].quoteDepth, 1);
        QCOMPARE(blocks[13].rows.size(), 3);
        QCOMPARE(blocks[13].columns[1], Qt::Alignment(Qt::AlignRight));
    }

    void eachSplitGivesTheSameBlocks()
    {
        const auto whole = parseMarkdown(everyKind);
        for (qsizetype cut = 0; cut <= everyKind.size(); ++cut) {
            IncrementalMarkdown text;
            text.append(everyKind.left(cut));
            text.append(everyKind.mid(cut));
            text.finish();
            if (text.blocks() != whole)
                qInfo() << describe(text.blocks());
            QVERIFY2(text.blocks() == whole, qPrintable(QStringLiteral("cut at %1").arg(cut)));
        }
    }

    void blocksWhileItStreamsAreThoseOfTheTextSoFar_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addRow("every kind") << everyKind;
        QTest::addRow("fence in a list left by outdenting")
            << QStringLiteral("- a\n  ```\n  code\n\nafter\n\n```\nb\n\nc\n```\n\nend\n");
        QTest::addRow("fence in a quote left by its end")
            << QStringLiteral("> ```\n> code\n\nafter\n\nmore\n\n> x\n\nend\n");
        QTest::addRow("longer fence holds a shorter one")
            << QStringLiteral("````\n```\n\nx\n```\n\ny\n````\n\nend\n\nz\n");
        QTest::addRow("tilde fence") << QStringLiteral("~~~ sh\n```\n\n~~~\n\nend\n\nz\n");
        QTest::addRow("list with blank lines")
            << QStringLiteral("1. a\n\n2. b\n\n   c\n\n3. d\n\nend\n\n- x\n\n\n- y\n\nz\n");
        QTest::addRow("fence that never ends") << QStringLiteral("a\n\n```\nb\n\nc\n\nd\n");
        QTest::addRow("star line that is emphasis")
            << QStringLiteral("*a*\n\n**b**\n\n* c\n\n-not a list\n\nd\n");
    }
    void blocksWhileItStreamsAreThoseOfTheTextSoFar()
    {
        QFETCH(QString, text);
        IncrementalMarkdown streamed;
        QVector<MarkdownBlock> before;
        for (qsizetype i = 0; i < text.size(); ++i) {
            streamed.append(text.mid(i, 1));
            const auto now = parseMarkdown(text.left(i + 1));
            if (streamed.blocks() != now)
                qInfo() << describe(streamed.blocks()) << describe(now);
            QVERIFY2(streamed.blocks() == now, qPrintable(text.left(i + 1)));
            for (int block = 0; block < streamed.firstChanged(); ++block)
                QVERIFY(block < before.size() && before[block] == streamed.blocks()[block]);
            before = streamed.blocks();
        }
    }

    void neitherHtmlNorPicturesNorStrangeLinksComeThrough()
    {
        const auto blocks = parseMarkdown(QStringLiteral(
            "<script>alert(1)</script>\n\n![x](http://evil/p.png) ![y](/etc/passwd) [f](file:///etc/passwd) "
            "[j](javascript:alert(1)) [ok](https://a.b/c)"));
        QVERIFY(plainText(blocks[0]).contains(QStringLiteral("<script>")));
        QStringList hrefs;
        for (const TextSpan &span : blocks[1].text)
            if (!span.href.isEmpty() && !hrefs.contains(span.href))
                hrefs += span.href;
        QCOMPARE(hrefs, (QStringList{QStringLiteral("http://evil/p.png"), QStringLiteral("https://a.b/c")}));
    }

    void onlyTheTailIsParsedAgain()
    {
        // 20,000 paragraphs, one by one: parsing all again each time would take minutes.
        IncrementalMarkdown text;
        QElapsedTimer clock;
        clock.start();
        for (int i = 0; i < 20000; ++i)
            text.append(QStringLiteral("Paragraph **%1** with some words.\n\n").arg(i));
        QCOMPARE(text.blocks().size(), 20000);
        QCOMPARE(text.firstChanged(), 19999);
        qInfo() << "20,000 paragraphs in" << clock.elapsed() << "ms";
    }

    void hostileTextEnds_data()
    {
        QTest::addColumn<QString>("unit");
        for (const char *unit :
             {"[", "![", "*", "_a", "> ", "`", "<", "&#", "|a", "- ", "1) ", "[a](", "~~", "\\", "***a"})
            QTest::addRow("%s", unit) << QString::fromLatin1(unit);
    }
    void hostileTextEnds()
    {
        QFETCH(QString, unit);
        const QString text = unit.repeated(20000 / int(unit.size()));
        QVERIFY(!parseMarkdown(text + QStringLiteral("\n\nend ") + text)
                     .isEmpty()); // The time limit of the test is the check.
    }
};

QTEST_APPLESS_MAIN(ChatMarkdownTest)
#include "tst_chat_markdown.moc"
