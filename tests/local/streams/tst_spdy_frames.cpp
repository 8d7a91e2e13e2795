#include "cluster/local/kubelet/header_block.h"
#include "cluster/local/kubelet/spdy_dictionary.h"
#include "cluster/local/kubelet/spdy_frame.h"
#include "spdy_notes.h"

#include <QTest>
#include <vector>
#include <zlib.h>

using namespace cluster;
using namespace cluster::local;

namespace {

std::string fromHex(const char *hex)
{
    return QByteArray::fromHex(hex).toStdString();
}

} // namespace

class SpdyFramesTest : public QObject
{
    Q_OBJECT

private slots:
    void theDictionaryIsTheProtocols();
    void headersThatAnotherProgramCompressedAreRead();
    void whatIsWrittenIsReadAgain();
    void aBlockThatUnpacksToTooMuchIsRefused();
    void aBrokenBlockIsRefused_data();
    void aBrokenBlockIsRefused();
    void framesMayBeCutAnywhere();
    void aFrameThatIsNotOfTheProtocolEndsTheReading_data();
    void aFrameThatIsNotOfTheProtocolEndsTheReading();
};

void SpdyFramesTest::theDictionaryIsTheProtocols()
{
    const std::string &words = spdyDictionary();
    QCOMPARE(words.size(), std::size_t{1423});
    QCOMPARE(adler32(adler32(0, nullptr, 0), reinterpret_cast<const Bytef *>(words.data()),
                     static_cast<uInt>(words.size())),
             uLong{0xe3c6a7c2});
}

void SpdyFramesTest::headersThatAnotherProgramCompressedAreRead()
{
    HeaderBlockReader reader; // the blocks are from Python's zlib, two of one connection
    const auto first = reader.read(fromHex("78f9e3c6a7c202253a703a2b294a4dcc851625aca9a0808614cb45e01c6061606"
                                           "000a4398b20d198094ade8c0600000000ffff"));
    QVERIFY(first.has_value());
    QCOMPARE(*first, (SpdyHeaders{{"streamtype", "error"}, {"port", "8000"}, {"requestid", "0"}}));
    const auto second = reader.read(fromHex("826a26ac0ad57850499508000000ffff"));
    QVERIFY(second.has_value());
    QCOMPARE(second->at("streamtype"), std::string("data"));
}

void SpdyFramesTest::whatIsWrittenIsReadAgain()
{
    HeaderBlockWriter writer;
    HeaderBlockReader reader;
    const std::vector<SpdyHeaders> blocks{{},
                                          {{"a", ""}},
                                          {{"long", std::string(5000, 'x')},
                                           {"b",
                                            std::string("1\0"
                                                        "2",
                                                        3)}}};
    for (const SpdyHeaders &headers : blocks) {
        const auto again = reader.read(writer.write(headers));
        QVERIFY(again.has_value());
        QCOMPARE(*again, headers);
    }
}

void SpdyFramesTest::aBlockThatUnpacksToTooMuchIsRefused()
{
    HeaderBlockWriter writer;
    const std::string bomb = writer.write({{"a", std::string(16 << 20, 'x')}});
    QVERIFY(bomb.size() < 65536);
    HeaderBlockReader reader(64 * 1024);
    const auto refused = reader.read(bomb);
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("too large") != std::string::npos);
}

void SpdyFramesTest::aBrokenBlockIsRefused_data()
{
    QTest::addColumn<QByteArray>("block");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("no zlib") << QByteArray("hello, world");
    QTest::newRow("cut") << QByteArray::fromHex("78f9e3c6a7c202253a703a2b294a4dcc851625aca9a0");
    QTest::newRow("other dictionary")
        << QByteArray::fromHex("78f9e3c6a7c302253a703a2b294a4dcc851625aca9a080");
    const auto packed = [](const std::string &text) {
        std::string compressed(1024, '\0');
        z_stream zip{};
        deflateInit(&zip, 9);
        zip.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
        zip.avail_in = static_cast<uInt>(text.size());
        zip.next_out = reinterpret_cast<Bytef *>(compressed.data());
        zip.avail_out = static_cast<uInt>(compressed.size());
        deflate(&zip, Z_SYNC_FLUSH);
        compressed.resize(compressed.size() - zip.avail_out);
        deflateEnd(&zip);
        return QByteArray::fromStdString(compressed);
    };
    QTest::newRow("three bytes") << packed(std::string(3, '\0'));
    QTest::newRow("many names, no bytes") << packed("\xFF\xFF\xFF\xFF");
    QTest::newRow("length past the end") << packed(big32(1) + big32(100) + "a");
    QTest::newRow("no value") << packed(big32(1) + big32(1) + "a");
    QTest::newRow("rest") << packed(big32(0) + "x");
    QTest::newRow("empty name") << packed(big32(1) + big32(0) + big32(0));
    QTest::newRow("twice") << packed(big32(2) + big32(1) + "a" + big32(0) + big32(1) + "a" + big32(0));
}

void SpdyFramesTest::aBrokenBlockIsRefused()
{
    QFETCH(QByteArray, block);
    HeaderBlockReader reader;
    QVERIFY(!reader.read(block.toStdString()).has_value());
}

void SpdyFramesTest::framesMayBeCutAnywhere()
{
    const std::string bytes = spdyData(1, "hello", false) + spdyControl(SpdyType::Ping, 0, big32(1))
        + spdyData(3, "", true) + spdyControl(static_cast<SpdyType>(77), 5, "") + spdyData(1, "world", true);
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
        SpdyFrameReader reader;
        Notes notes;
        for (std::size_t at = 0; at < bytes.size(); at += step)
            QVERIFY(reader.feed(std::string_view(bytes).substr(at, step), notes).has_value());
        QCOMPARE(notes.text, std::string("[1]hello<6 0 4>[3]$<77 5 0>[1]world$"));
    }
}

void SpdyFramesTest::aFrameThatIsNotOfTheProtocolEndsTheReading_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("version 2") << QByteArray::fromHex("8002000600000004") + QByteArray(4, '\0');
    QTest::newRow("long control frame") << QByteArray::fromHex("8003000600FFFFFF");
    QTest::newRow("HTTP") << QByteArray("\xC7"
                                        "ET / HTTP/1.1\r\n\r\n");
}

void SpdyFramesTest::aFrameThatIsNotOfTheProtocolEndsTheReading()
{
    QFETCH(QByteArray, bytes);
    SpdyFrameReader reader;
    Notes notes;
    QVERIFY(!reader.feed(bytes.toStdString(), notes).has_value());
}

QTEST_APPLESS_MAIN(SpdyFramesTest)
#include "tst_spdy_frames.moc"
