#include "cluster/openai/sse_parser.h"

#include <QTest>
#include <vector>

using cluster::SseEvent;
using cluster::SseParser;

namespace {

struct Parsed
{
    std::vector<SseEvent> events;
    cluster::Status status;
};

Parsed parse(const std::vector<std::string_view> &pieces, std::size_t limit = SseParser::defaultMaxEventBytes)
{
    Parsed parsed;
    SseParser parser(limit);
    const auto keep = [&](SseEvent &&event) { parsed.events.push_back(std::move(event)); };
    for (const std::string_view piece : pieces) {
        parsed.status = parser.feed(piece, keep);
        if (!parsed.status)
            return parsed;
    }
    parsed.status = parser.finish(keep);
    return parsed;
}

QStringList texts(const Parsed &parsed)
{
    QStringList list;
    for (const SseEvent &event : parsed.events)
        list << QString::fromStdString(event.name + "|" + event.data);
    return list;
}

} // namespace

class TestSseParser : public QObject
{
    Q_OBJECT

private slots:
    void readsEventsAtEveryByteSplit_data();
    void readsEventsAtEveryByteSplit();
    void readsAnEventOfEightMegabytes();
    void refusesAnEventOverItsLimit();
};

void TestSseParser::readsEventsAtEveryByteSplit_data()
{
    QTest::addColumn<QByteArray>("stream");
    QTest::addColumn<QStringList>("expected");

    const QStringList two{"|a", "|b"};
    QTest::newRow("LF") << QByteArray("data: a\n\ndata: b\n\n") << two;
    QTest::newRow("CRLF") << QByteArray("data: a\r\n\r\ndata: b\r\n\r\n") << two;
    QTest::newRow("CR") << QByteArray("data: a\r\rdata: b\r\r") << two;
    QTest::newRow("line ends mixed") << QByteArray("data: a\r\n\ndata: b\r\r\n") << two;
    QTest::newRow("no space after the colon") << QByteArray("data:a\n\ndata:b\n\n") << two;
    QTest::newRow("only one space is taken") << QByteArray("data:  a\n\n") << QStringList{"| a"};
    QTest::newRow("comments between") << QByteArray(": ping\n\ndata: a\n: ping\n\n:\n\ndata: b\n\n") << two;
    QTest::newRow("byte order mark") << QByteArray("\xEF\xBB\xBF"
                                                   "data: a\n\ndata: b\n\n")
                                     << two;
    QTest::newRow("several data lines") << QByteArray("data: a\ndata: b\n\n") << QStringList{"|a\nb"};
    QTest::newRow("empty data lines count") << QByteArray("data\ndata:\n\n") << QStringList{"|\n"};
    QTest::newRow("event name") << QByteArray("event: error\ndata: a\n\ndata: b\n\n")
                                << QStringList{"error|a", "|b"};
    QTest::newRow("error without data") << QByteArray("event: error\n\n") << QStringList{"error|"};
    QTest::newRow("other name without data is no event")
        << QByteArray("event: ping\n\ndata: a\n\n") << QStringList{"|a"};
    QTest::newRow("id, retry and unknown fields")
        << QByteArray("id: 7\nretry: 9\nfoo: x\ndata: a\n\n") << QStringList{"|a"};
    QTest::newRow("colons in the data") << QByteArray("data: a:b: c\n\n") << QStringList{"|a:b: c"};
    QTest::newRow("UTF-8 and line separators are text")
        << QByteArray("data: \xF0\x9F\x9A\xA2\xE2\x80\xA8\xC2\x85z\n\n")
        << QStringList{QString::fromUtf8("|\xF0\x9F\x9A\xA2\xE2\x80\xA8\xC2\x85z")};
    QTest::newRow("last blank line missing") << QByteArray("data: a\n\ndata: b\n") << two;
    QTest::newRow("last line end missing") << QByteArray("data: a\n\ndata: b") << two;
    QTest::newRow("nothing but blank lines") << QByteArray("\n\r\n\r\n\n") << QStringList{};
}

void TestSseParser::readsEventsAtEveryByteSplit()
{
    QFETCH(QByteArray, stream);
    QFETCH(QStringList, expected);
    const std::string_view all(stream.constData(), static_cast<std::size_t>(stream.size()));
    for (std::size_t split = 0; split <= all.size(); ++split)
        QCOMPARE(texts(parse({all.substr(0, split), all.substr(split)})), expected);

    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < all.size(); ++i)
        bytes.push_back(all.substr(i, 1));
    QCOMPARE(texts(parse(bytes)), expected);
}

void TestSseParser::readsAnEventOfEightMegabytes()
{
    const std::string text(std::size_t{8} << 20, 'x');
    const std::string stream = "data: " + text + "\n\ndata: b\n\n";
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < stream.size(); at += 16384)
        pieces.push_back(std::string_view(stream).substr(at, 16384));
    const Parsed parsed = parse(pieces);
    QVERIFY(parsed.status.has_value());
    QCOMPARE(parsed.events.size(), std::size_t{2});
    QVERIFY(parsed.events[0].data == text);
}

void TestSseParser::refusesAnEventOverItsLimit()
{
    QVERIFY(parse({"data: 1234\n\n"}, 10).status.has_value());
    const Parsed oneLine = parse({"data: 12345\n\n"}, 10);
    QVERIFY(!oneLine.status.has_value());
    QVERIFY(oneLine.status.error().code == cluster::ErrorCode::ResourceExhausted);
    QVERIFY(!parse({"data: 1234\ndata: 1234\n\n"}, 10).status.has_value());
    QVERIFY(parse({"data: 1234\n\ndata: 1234\n\n"}, 10).status.has_value());
}

QTEST_APPLESS_MAIN(TestSseParser)
#include "tst_sse_parser.moc"
