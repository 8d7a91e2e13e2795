#include "cluster/httpd/http_listener.h"
#include "tests/cluster/httpd/raw_client.h"

#include <QTest>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

using namespace cluster;
using tests::RawClient;

namespace {

/// What a sink saw; outlives it.
struct Taken
{
    std::size_t bytes = 0;
    std::size_t largestPiece = 0;
    std::size_t wanted = SIZE_MAX; ///< says no after that many
    std::promise<void> gone;
};

class CountingSink : public BodySink
{
public:
    explicit CountingSink(std::shared_ptr<Taken> taken) : m_taken(std::move(taken)) {}
    ~CountingSink() override { m_taken->gone.set_value(); }
    bool write(std::string_view piece) override
    {
        m_taken->bytes += piece.size();
        m_taken->largestPiece = std::max(m_taken->largestPiece, piece.size());
        return m_taken->bytes < m_taken->wanted;
    }

private:
    std::shared_ptr<Taken> m_taken;
};

/// Sends bodies for /sink into sinks and keeps the others.
class SinkServer
{
public:
    SinkServer()
    {
        ListenerOptions options;
        options.limits.maxBodyBytes = 1000;
        options.openSink = [this](const ServerRequest &request) -> std::shared_ptr<BodySink> {
            return request.path == "/sink" ? std::make_shared<CountingSink>(taken) : nullptr;
        };
        auto opened = HttpListener::open(m_io, std::move(options), [](const auto &exchange) {
            const ServerRequest &request = exchange->request();
            if (request.path == "/promise") {
                exchange->begin(200, {{"content-length", "6"}});
                exchange->write("six");
                exchange->write(request.queryValue("short") ? "" : "six");
                exchange->end();
                return;
            }
            exchange->reply({200, {}, request.sink ? "sunk" : "kept " + request.body});
        });
        if (!opened)
            qFatal("%s", opened.error().message.c_str());
        m_listener = std::move(*opened);
        m_thread = std::thread([this] { m_io.run(); });
    }
    ~SinkServer()
    {
        boost::asio::post(m_io, [this] { m_listener.reset(); });
        m_thread.join();
    }
    RawClient client() const { return RawClient::tcp(m_listener->port()); }

    std::shared_ptr<Taken> taken = std::make_shared<Taken>();

private:
    boost::asio::io_context m_io;
    std::unique_ptr<HttpListener> m_listener;
    std::thread m_thread;
};

std::string head(const std::string &path, std::size_t length)
{
    return "PUT " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

} // namespace

class TestBodySink : public QObject
{
    Q_OBJECT

private slots:
    void takesMoreThanMemoryMay();
    void othersKeepTheirLimit();
    void isGoneWhenTheClientGoesInTheMiddle();
    void mayRefuseTheRest();
    void aPromisedLengthNeedsNoChunks();
    void aBrokenPromiseClosesTheConnection();
};

void TestBodySink::takesMoreThanMemoryMay()
{
    SinkServer server;
    RawClient client = server.client();
    const std::string piece(1 << 20, 'x');
    QVERIFY(client.send(head("/sink", 8 * piece.size())));
    for (int i = 0; i < 8; ++i)
        QVERIFY(client.send(piece));
    QVERIFY(client.readAnswer().ends_with("sunk"));
    QCOMPARE(server.taken->bytes, 8 * piece.size());
    QVERIFY2(server.taken->largestPiece < piece.size(), "the body was gathered first");
    QVERIFY(client.send(head("/else", 3) + "abc")); // the connection goes on
    QVERIFY(client.readAnswer().ends_with("kept abc"));
}

void TestBodySink::othersKeepTheirLimit()
{
    SinkServer server;
    RawClient client = server.client();
    QVERIFY(client.send(head("/else", 1001)));
    QVERIFY(client.readAll().starts_with("HTTP/1.1 413"));
    RawClient chunky = server.client();
    QVERIFY(chunky.send("PUT /else HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
                        + std::string(1001, 'x') + "\r\n0\r\n\r\n"));
    QVERIFY(chunky.readAll().starts_with("HTTP/1.1 413"));
}

void TestBodySink::isGoneWhenTheClientGoesInTheMiddle()
{
    SinkServer server;
    auto gone = server.taken->gone.get_future();
    {
        RawClient client = server.client();
        QVERIFY(client.send(head("/sink", 1000) + "the first bytes"));
    }
    QCOMPARE(gone.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    QCOMPARE(server.taken->bytes, std::size_t{15});
}

void TestBodySink::mayRefuseTheRest()
{
    SinkServer server;
    server.taken->wanted = 10;
    RawClient client = server.client();
    QVERIFY(client.send(head("/sink", 1000000) + std::string(100, 'x')));
    const std::string answer
        = client.readAll(); // which ends: the rest of the body can't be told from a request
    QVERIFY(answer.ends_with("sunk"));
    QVERIFY(answer.find("connection: close") != std::string::npos);
}

void TestBodySink::aPromisedLengthNeedsNoChunks()
{
    SinkServer server;
    RawClient client = server.client();
    QVERIFY(client.send("GET /promise HTTP/1.1\r\nHost: h\r\n\r\n"));
    const std::string answer = client.readUntil("sixsix");
    QVERIFY(answer.find("content-length: 6\r\n") != std::string::npos);
    QVERIFY(answer.find("chunked") == std::string::npos);
    QVERIFY(client.send(head("/else", 1) + "a")); // the connection goes on
    QVERIFY(client.readAnswer().ends_with("kept a"));
}

void TestBodySink::aBrokenPromiseClosesTheConnection()
{
    SinkServer server;
    RawClient client = server.client();
    QVERIFY(client.send("GET /promise?short HTTP/1.1\r\nHost: h\r\n\r\n"));
    QVERIFY(client.readAll().ends_with("\r\n\r\nsix"));
}

QTEST_APPLESS_MAIN(TestBodySink)
#include "tst_body_sink.moc"
