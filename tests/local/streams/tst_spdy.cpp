#include "cluster/local/kubelet/big_endian.h"
#include "cluster/local/kubelet/header_block.h"
#include "cluster/local/kubelet/spdy_dictionary.h"
#include "cluster/local/kubelet/spdy_frame.h"
#include "cluster/local/kubelet/spdy_session.h"
#include "memory_stream.h"

#include <QTest>
#include <random>
#include <vector>
#include <zlib.h>

using namespace cluster;
using namespace cluster::local;

namespace {

std::string fromHex(const char *hex)
{
    return QByteArray::fromHex(hex).toStdString();
}

/// Writes down what it is told, data of one stream as one.
struct Notes : SpdyFrameSink
{
    std::string text;
    std::uint32_t lastStream = 0;

    Status onData(std::uint32_t stream, std::string_view bytes, bool isLast) override
    {
        if (stream != lastStream)
            text += "[" + std::to_string(stream) + "]";
        lastStream = stream;
        text += bytes;
        if (isLast)
            text += "$";
        return {};
    }
    Status onControl(SpdyType type, std::uint8_t flags, std::string_view payload) override
    {
        lastStream = 0;
        text += "<" + std::to_string(static_cast<int>(type)) + " " + std::to_string(flags) + " "
            + std::to_string(payload.size()) + ">";
        return {};
    }
};

std::string big32(std::uint32_t value)
{
    std::string text;
    appendBig32(text, value);
    return text;
}

/// The client's end, as far as the tests need it.
struct Client
{
    HeaderBlockWriter headers;

    std::string open(std::uint32_t stream, const SpdyHeaders &names, std::uint8_t flags = 0)
    {
        return spdyControl(SpdyType::SynStream, flags,
                           big32(stream) + big32(0) + std::string(2, '\0') + headers.write(names));
    }
};

} // namespace

class SpdyTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void theDictionaryIsTheProtocols();
    void headersThatAnotherProgramCompressedAreRead();
    void whatIsWrittenIsReadAgain();
    void aBlockThatUnpacksToTooMuchIsRefused();
    void aBrokenBlockIsRefused_data();
    void aBrokenBlockIsRefused();
    void framesMayBeCutAnywhere();
    void aFrameThatIsNotOfTheProtocolEndsTheReading_data();
    void aFrameThatIsNotOfTheProtocolEndsTheReading();
    void bytesFlowBothWaysAndEachWayEndsByItself();
    void aPingIsEchoed();
    void settingsAndWindowUpdatesAreIgnored();
    void aResetStreamBreaks();
    void closingAStreamResetsIt();
    void streamsBeyondTheLimitAreRefused();
    void aConnectionIsNotReadWhileAStreamHasTooMuchUnread();
    void aClientThatOnlySendsIsCut();
    void finishingFlushesFirst();
    void whatIsLeftUnusedByADestroyedSessionStillAnswers();
    void randomBytesDoNoHarm();

private:
    void start(SpdyLimits limits = {});
    void run() { m_io.restart(), m_io.poll(); }
    std::string read(ByteStream &stream);

    boost::asio::io_context m_io{1};
    std::shared_ptr<MemoryWire> m_wire;
    std::unique_ptr<SpdySession> m_session;
    std::vector<SpdySession::Stream> m_streams;
    bool m_hasEnded = false;
};

void SpdyTest::init()
{
    m_session.reset();
    m_streams.clear();
    m_wire = std::make_shared<MemoryWire>();
    m_hasEnded = false;
    run();
}

void SpdyTest::start(SpdyLimits limits)
{
    m_session = std::make_unique<SpdySession>(
        m_io.get_executor(), makeMemoryStream(m_io, m_wire), limits,
        SpdySession::Events{[this](SpdySession::Stream stream) { m_streams.push_back(std::move(stream)); },
                            [this] { m_hasEnded = true; }});
    run();
}

/// "text", "text$" if it came with the end, "!" if the stream broke; "…" if there is nothing yet.
std::string SpdyTest::read(ByteStream &stream)
{
    std::string text;
    for (;;) {
        auto buffer = std::make_shared<std::string>(1 << 16, '\0');
        auto result = std::make_shared<std::string>("…");
        stream.readSome(buffer->data(), buffer->size(),
                        [buffer, result](std::error_code error, std::size_t count) {
                            *result = isEnd(error) ? "$" : error ? "!" : buffer->substr(0, count);
                        });
        run();
        text += *result;
        if (*result == "$" || *result == "!" || *result == "…")
            return text;
    }
}

void SpdyTest::theDictionaryIsTheProtocols()
{
    const std::string &words = spdyDictionary();
    QCOMPARE(words.size(), std::size_t{1423});
    QCOMPARE(adler32(adler32(0, nullptr, 0), reinterpret_cast<const Bytef *>(words.data()),
                     static_cast<uInt>(words.size())),
             uLong{0xe3c6a7c2});
}

void SpdyTest::headersThatAnotherProgramCompressedAreRead()
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

void SpdyTest::whatIsWrittenIsReadAgain()
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

void SpdyTest::aBlockThatUnpacksToTooMuchIsRefused()
{
    HeaderBlockWriter writer;
    const std::string bomb = writer.write({{"a", std::string(16 << 20, 'x')}});
    QVERIFY(bomb.size() < 65536);
    HeaderBlockReader reader(64 * 1024);
    const auto refused = reader.read(bomb);
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("too large") != std::string::npos);
}

void SpdyTest::aBrokenBlockIsRefused_data()
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

void SpdyTest::aBrokenBlockIsRefused()
{
    QFETCH(QByteArray, block);
    HeaderBlockReader reader;
    QVERIFY(!reader.read(block.toStdString()).has_value());
}

void SpdyTest::framesMayBeCutAnywhere()
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

void SpdyTest::aFrameThatIsNotOfTheProtocolEndsTheReading_data()
{
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("version 2") << QByteArray::fromHex("8002000600000004") + QByteArray(4, '\0');
    QTest::newRow("long control frame") << QByteArray::fromHex("8003000600FFFFFF");
    QTest::newRow("HTTP") << QByteArray("\xC7"
                                        "ET / HTTP/1.1\r\n\r\n");
}

void SpdyTest::aFrameThatIsNotOfTheProtocolEndsTheReading()
{
    QFETCH(QByteArray, bytes);
    SpdyFrameReader reader;
    Notes notes;
    QVERIFY(!reader.feed(bytes.toStdString(), notes).has_value());
}

void SpdyTest::bytesFlowBothWaysAndEachWayEndsByItself()
{
    Client client;
    m_wire->toRead
        = client.open(1, {{"streamtype", "data"}}) + spdyData(1, "ask", false) + spdyData(1, "ing", true);
    start();
    QCOMPARE(m_streams.size(), std::size_t{1});
    QCOMPARE(m_streams[0].headers.at("streamtype"), std::string("data"));
    QCOMPARE(read(*m_streams[0].bytes), std::string("asking$"));

    bool isWritten = false;
    m_streams[0].bytes->write(std::string(100000, 'x'), [&](std::error_code error) { isWritten = !error; });
    run();
    QVERIFY(isWritten);
    m_streams[0].bytes->shutdownWrite();
    run();
    SpdyFrameReader reader;
    Notes notes;
    QVERIFY(reader.feed(m_wire->written, notes).has_value());
    QVERIFY(notes.text.ends_with("[1]" + std::string(100000, 'x') + "$"));
    QVERIFY(notes.text.starts_with("<2 0")); // SYN_REPLY
    QCOMPARE(m_session->openStreams(), std::size_t{0});
}

void SpdyTest::aPingIsEchoed()
{
    const std::string ping = spdyControl(SpdyType::Ping, 0, big32(7));
    m_wire->toRead = ping + spdyControl(SpdyType::Ping, 0, big32(8));
    start();
    QCOMPARE(m_wire->written, ping); // the even one answers a ping of ours, which there was not
}

void SpdyTest::settingsAndWindowUpdatesAreIgnored()
{
    Client client;
    m_wire->toRead = spdyControl(SpdyType::Settings, 0, big32(0))
        + spdyControl(SpdyType::WindowUpdate, 0, big32(1) + big32(100))
        + spdyControl(SpdyType::GoAway, 0, big32(0) + big32(0)) + client.open(1, {})
        + spdyData(1, "x", false);
    start();
    QCOMPARE(m_streams.size(), std::size_t{1});
    QCOMPARE(read(*m_streams[0].bytes), std::string("x…"));
    QVERIFY(!m_hasEnded);
}

void SpdyTest::aResetStreamBreaks()
{
    Client client;
    m_wire->toRead = client.open(1, {}) + spdyData(1, "x", false) + spdyRstStream(1, SpdyReset::Cancel);
    start();
    QCOMPARE(read(*m_streams[0].bytes), std::string("x!"));
    std::error_code failed;
    m_streams[0].bytes->write("y", [&failed](std::error_code error) { failed = error; });
    run();
    QVERIFY(failed == std::errc::broken_pipe);
}

void SpdyTest::closingAStreamResetsIt()
{
    Client client;
    m_wire->toRead = client.open(1, {});
    m_wire->toRead += client.open(3, {});
    start();
    m_wire->written.clear();
    m_streams.erase(m_streams.begin());
    run();
    QCOMPARE(m_wire->written, spdyRstStream(1, SpdyReset::Cancel));
    QCOMPARE(m_session->openStreams(), std::size_t{1});
}

void SpdyTest::streamsBeyondTheLimitAreRefused()
{
    Client client;
    for (const std::uint32_t stream : {1U, 3U, 5U})
        m_wire->toRead += client.open(stream, {});
    SpdyLimits limits;
    limits.maxStreams = 2;
    start(limits);
    QCOMPARE(m_streams.size(), std::size_t{2});
    QVERIFY(m_wire->written.ends_with(spdyRstStream(5, SpdyReset::RefusedStream)));
}

void SpdyTest::aConnectionIsNotReadWhileAStreamHasTooMuchUnread()
{
    Client client;
    m_wire->toRead = client.open(1, {});
    for (int i = 0; i < 100; ++i)
        m_wire->toRead += spdyData(1, std::string(100000, 'x'), false);
    SpdyLimits limits;
    limits.maxStreamBacklog = 200000;
    start(limits);
    QVERIFY2(m_wire->wasRead < 400000, std::to_string(m_wire->wasRead).c_str());
    QCOMPARE(read(*m_streams[0].bytes).size(), 10000000 + std::string("…").size());
}

void SpdyTest::aClientThatOnlySendsIsCut()
{
    m_wire->isStuck = true;
    for (std::uint32_t i = 0; i < 40000; ++i)
        m_wire->toRead += spdyControl(SpdyType::Ping, 0, big32(2 * i + 1));
    start();
    QVERIFY(m_wire->isClosed);
    QVERIFY(m_hasEnded);
}

void SpdyTest::finishingFlushesFirst()
{
    Client client;
    m_wire->toRead = client.open(1, {});
    start();
    m_streams[0].bytes->write("bye", [](std::error_code) {});
    m_streams[0].bytes->shutdownWrite();
    m_session->finish();
    run();
    QVERIFY(m_wire->written.ends_with(spdyData(1, "bye", false) + spdyData(1, "", true)
                                      + spdyControl(SpdyType::GoAway, 0, big32(1) + big32(0))));
    QVERIFY(m_wire->isWriteEnded);
}

void SpdyTest::whatIsLeftUnusedByADestroyedSessionStillAnswers()
{
    Client client;
    m_wire->toRead = client.open(1, {});
    start();
    std::error_code failed;
    char byte = 0;
    m_streams[0].bytes->readSome(&byte, 1, [&failed](std::error_code error, std::size_t) { failed = error; });
    m_session.reset();
    run();
    QVERIFY(failed);
    QVERIFY(m_wire->isClosed);
    QVERIFY(!m_hasEnded);
    failed = {};
    m_streams[0].bytes->write("x", [&failed](std::error_code error) { failed = error; });
    run();
    QVERIFY(failed);
}

void SpdyTest::randomBytesDoNoHarm()
{
    std::mt19937 random(20261130);
    std::uniform_int_distribution<int> byte(0, 255);
    for (int round = 0; round < 3000; ++round) {
        init();
        Client client;
        std::string bytes = client.open(1, {{"streamtype", "data"}}) + spdyData(1, "hello", false);
        bytes += client.open(3, {{"port", "80"}}) + spdyControl(SpdyType::Ping, 0, big32(1))
            + spdyData(3, "x", true);
        const int changes = 1 + byte(random) % 8;
        for (int i = 0; i < changes; ++i)
            bytes[static_cast<std::size_t>(random()) % bytes.size()] = static_cast<char>(byte(random));
        m_wire->toRead = bytes;
        m_wire->isEnded = true;
        start();
        QVERIFY(m_hasEnded); // at the end of the bytes or where they make no sense
        QVERIFY(m_streams.size() <= 3);
    }
}

QTEST_APPLESS_MAIN(SpdyTest)
#include "tst_spdy.moc"
