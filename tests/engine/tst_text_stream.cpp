#include "engine/scheduler/text_stream.h"
#include <QtTest>

using engine::TextStream;

class TextStreamTest : public QObject
{
    Q_OBJECT

private slots:
    void nothingIsShownTooEarlyAtAnySplit_data();
    void nothingIsShownTooEarlyAtAnySplit();
    void brokenBytesBecomeReplacementCharacters_data();
    void brokenBytesBecomeReplacementCharacters();
    void anUnfinishedCharacterWaits();
    void aPossibleStopWaits();
};

void TextStreamTest::nothingIsShownTooEarlyAtAnySplit_data()
{
    QTest::addColumn<QByteArray>("written");
    QTest::addColumn<QByteArray>("shown");
    QTest::addColumn<QByteArray>("stop");
    QTest::newRow("no stop") << QByteArray("plain \xE2\x82\xAC text") << QByteArray("plain \xE2\x82\xAC text")
                             << QByteArray();
    QTest::newRow("stop") << QByteArray("ab</s>cd") << QByteArray("ab") << QByteArray("</s>");
    QTest::newRow("false start") << QByteArray("a</b></s>") << QByteArray("a</b>") << QByteArray("</s>");
    QTest::newRow("four bytes") << QByteArray("\xF0\x9F\x98\x80</s>") << QByteArray("\xF0\x9F\x98\x80")
                                << QByteArray("</s>");
    QTest::newRow("stop beyond ASCII") << QByteArray("x\xE2\x82\xAD\xE2\x82\xAC!")
                                       << QByteArray("x\xE2\x82\xAD") << QByteArray("\xE2\x82\xAC");
}

void TextStreamTest::nothingIsShownTooEarlyAtAnySplit()
{
    QFETCH(QByteArray, written);
    QFETCH(QByteArray, shown);
    QFETCH(QByteArray, stop);
    const std::string text = written.toStdString();
    for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= text.size(); ++second) {
            TextStream stream({"</s>", "\xE2\x82\xAC", "never"}, false);
            if (stop.isEmpty())
                stream = TextStream({"</s>", "never"}, false);
            std::string seen;
            std::optional<std::string> matched;
            for (const std::string &part :
                 {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
                if (matched)
                    break;
                TextStream::Piece piece = stream.push(part);
                seen += piece.text;
                matched = piece.stop;
                QVERIFY(shown.startsWith(QByteArray::fromStdString(seen)));
            }
            seen += stream.flush();
            QCOMPARE(QByteArray::fromStdString(seen), shown);
            QCOMPARE(QByteArray::fromStdString(matched.value_or("")), stop);
        }
    }
}

void TextStreamTest::brokenBytesBecomeReplacementCharacters_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("text");
    const QByteArray mark("\xEF\xBF\xBD");
    QTest::newRow("lone continuation") << QByteArray("a\x80z") << "a" + mark + "z";
    QTest::newRow("overlong") << QByteArray("\xC0\xAF") << mark + mark;
    QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80") << mark + mark + mark;
    QTest::newRow("cut short by a letter") << QByteArray("\xE2\x82x") << mark + "x";
    QTest::newRow("cut short by the end") << QByteArray("x\xF0\x9F\x98") << "x" + mark;
    QTest::newRow("beyond Unicode") << QByteArray("\xF5") << mark;
}

void TextStreamTest::brokenBytesBecomeReplacementCharacters()
{
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, text);
    TextStream stream({}, false);
    const std::string first = stream.push(bytes.toStdString()).text;
    QCOMPARE(QByteArray::fromStdString(first + stream.flush()), text);
}

void TextStreamTest::anUnfinishedCharacterWaits()
{
    TextStream stream({}, false);
    QCOMPARE(stream.push("a\xE2\x82").text, "a");
    QCOMPARE(stream.push("\xAC").text, "\xE2\x82\xAC");
}

void TextStreamTest::aPossibleStopWaits()
{
    TextStream stream({"STOP"}, false);
    QCOMPARE(stream.push("abST").text, "ab");
    QCOMPARE(stream.push("x").text, "STx");
    QCOMPARE(stream.pushUnsearched("STOP"), "STOP");
}

QTEST_APPLESS_MAIN(TextStreamTest)
#include "tst_text_stream.moc"
