#include "cluster/local/kubelet/header_block.h"
#include "cluster/local/kubelet/spdy_session.h"
#include "memory_stream.h"
#include "spdy_notes.h"

#include <QTest>
#include <random>
#include <vector>

using namespace cluster;
using namespace cluster::local;

namespace {

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

class SpdySessionTest : public QObject
{
    Q_OBJECT

private slots:
    void init();
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

void SpdySessionTest::init()
{
    m_session.reset();
    m_streams.clear();
    m_wire = std::make_shared<MemoryWire>();
    m_hasEnded = false;
    run();
}

void SpdySessionTest::start(SpdyLimits limits)
{
    m_session = std::make_unique<SpdySession>(
        m_io.get_executor(), makeMemoryStream(m_io, m_wire), limits,
        SpdySession::Events{[this](SpdySession::Stream stream) { m_streams.push_back(std::move(stream)); },
                            [this] { m_hasEnded = true; }});
    run();
}

/// "text", "text$" if it came with the end, "!" if the stream broke; "…" if there is nothing yet.
std::string SpdySessionTest::read(ByteStream &stream)
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

void SpdySessionTest::bytesFlowBothWaysAndEachWayEndsByItself()
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

void SpdySessionTest::aPingIsEchoed()
{
    const std::string ping = spdyControl(SpdyType::Ping, 0, big32(7));
    m_wire->toRead = ping + spdyControl(SpdyType::Ping, 0, big32(8));
    start();
    QCOMPARE(m_wire->written, ping); // the even one answers a ping of ours, which there was not
}

void SpdySessionTest::settingsAndWindowUpdatesAreIgnored()
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

void SpdySessionTest::aResetStreamBreaks()
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

void SpdySessionTest::closingAStreamResetsIt()
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

void SpdySessionTest::streamsBeyondTheLimitAreRefused()
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

void SpdySessionTest::aConnectionIsNotReadWhileAStreamHasTooMuchUnread()
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

void SpdySessionTest::aClientThatOnlySendsIsCut()
{
    m_wire->isStuck = true;
    for (std::uint32_t i = 0; i < 40000; ++i)
        m_wire->toRead += spdyControl(SpdyType::Ping, 0, big32(2 * i + 1));
    start();
    QVERIFY(m_wire->isClosed);
    QVERIFY(m_hasEnded);
}

void SpdySessionTest::finishingFlushesFirst()
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

void SpdySessionTest::whatIsLeftUnusedByADestroyedSessionStillAnswers()
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

void SpdySessionTest::randomBytesDoNoHarm()
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

QTEST_APPLESS_MAIN(SpdySessionTest)
#include "tst_spdy_session.moc"
