// Answers that are made bit by bit, and clients that are slow or go.

#include "tests/cluster/httpd/running_server.h"

#include <atomic>
#include <csignal>
#include <future>

using namespace cluster;
using namespace tests;
using namespace std::chrono_literals;

class TestHttpdStreaming : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { std::signal(SIGPIPE, SIG_IGN); } // OpenSSL's client writes without MSG_NOSIGNAL
    void streamsInChunks();
    void aCutStreamHasNoLastChunk();
    void slowReadersHoldBackTheWriter();
    void tellsWhenTheClientGoesWhileItWaits();
    void slowHeadersAndBodiesTimeOut();
    void idleConnectionsMakeWay();
    void closesWhileAnswersAreMade();
};

void TestHttpdStreaming::streamsInChunks()
{
    std::thread writer;
    RunningServer server([&](const ExchangePtr &exchange) {
        writer = std::thread([exchange] {
            exchange->begin(200, {{"content-type", "text/plain"}});
            for (int i = 0; i < 1000; ++i)
                exchange->writeAndWait(std::to_string(i) + ",");
            exchange->end();
        });
    });
    RawClient client = server.client();
    QVERIFY(client.send(request("/")));
    const std::string answer = client.readAnswer();
    writer.join();
    std::string expected;
    for (int i = 0; i < 1000; ++i)
        expected += std::to_string(i) + ",";
    QCOMPARE(bodyOf(answer), expected);
    QVERIFY(client.send(request("/again", "Connection: close\r\n"))); // the connection is still good
    QVERIFY(startsWith(client.readUntil("\r\n"), "HTTP/1.1 200 "));
    client.readAll();
    writer.join();
}

void TestHttpdStreaming::aCutStreamHasNoLastChunk()
{
    RunningServer server([](const ExchangePtr &exchange) {
        exchange->begin(200, {});
        exchange->write("half");
        if (exchange->request().path == "/cut")
            exchange->cut(); // the other way is to forget it
    });
    for (const char *target : {"/cut", "/forgotten"}) {
        RawClient client = server.client();
        QVERIFY(client.send(request(target)));
        const std::string all = client.readAll();
        QVERIFY2(all.ends_with("\r\n\r\n4\r\nhalf\r\n"), all.c_str());
    }
}

void TestHttpdStreaming::slowReadersHoldBackTheWriter()
{
    ListenerOptions options;
    options.limits.maxBacklogBytes = 100000;
    std::atomic<int> written = 0;
    std::promise<bool> outcome;
    std::thread writer;
    constexpr int kPieces = 400;
    RunningServer server(
        [&](const ExchangePtr &exchange) {
            writer = std::thread([&, exchange] {
                exchange->begin(200, {});
                bool goesOn = true;
                for (int i = 0; i < kPieces && goesOn; ++i) {
                    goesOn = exchange->writeAndWait(std::string(100000, 'x'));
                    ++written;
                }
                exchange->end();
                outcome.set_value(goesOn);
            });
        },
        options);
    RawClient client = server.client();
    QVERIFY(client.send(request("/")));
    client.readUntil("\r\n\r\n");
    QTRY_VERIFY(written > 0);
    int before = -1; // until the sockets' buffers are full
    while (before != written) {
        before = written;
        std::this_thread::sleep_for(200ms);
    }
    QVERIFY(written < kPieces);
    client.reset();
    QCOMPARE(outcome.get_future().get(), false); // and the writer hears that nobody reads
    writer.join();
}

void TestHttpdStreaming::tellsWhenTheClientGoesWhileItWaits()
{
    std::promise<ExchangePtr> arrived;
    std::promise<void> gone;
    RunningServer server([&](const ExchangePtr &exchange) {
        exchange->onClosed([&] { gone.set_value(); });
        arrived.set_value(exchange);
    });
    {
        RawClient client = server.client();
        QVERIFY(client.send(request("/")));
        ExchangePtr exchange = arrived.get_future().get();
        QVERIFY(!exchange->isClosed());
        client.reset();
        gone.get_future().get();
        QVERIFY(exchange->isClosed());
        std::promise<void> late;
        exchange->onClosed([&] { late.set_value(); });
        late.get_future().get();
        exchange->reply({200, {}, "nobody hears it"});
    }
}

void TestHttpdStreaming::slowHeadersAndBodiesTimeOut()
{
    ListenerOptions options;
    options.limits.headerTimeout = 100ms;
    options.limits.bodyTimeout = 100ms;
    options.limits.idleTimeout = 100ms;
    RunningServer server(echo, options);
    RawClient header = server.client();
    QVERIFY(header.send("GET / HTTP/1.1\r\n"));
    QVERIFY(startsWith(header.readAll(), "HTTP/1.1 408 "));
    RawClient body = server.client();
    QVERIFY(body.send(request("/", "Content-Length: 10\r\n", "abc")));
    QVERIFY(startsWith(body.readAll(), "HTTP/1.1 408 "));
    RawClient silent = server.client();
    QCOMPARE(silent.readAll(), std::string());
    RawClient idle = server.client();
    QVERIFY(idle.send(request("/")));
    QVERIFY(startsWith(idle.readAnswer(), "HTTP/1.1 200 "));
    QCOMPARE(idle.readAll(), std::string()); // without a word
}

void TestHttpdStreaming::idleConnectionsMakeWay()
{
    ListenerOptions options;
    options.limits.maxConnections = 3;
    RunningServer server(echo, options);
    std::vector<RawClient> clients;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(server.client());
        QVERIFY(clients.back().send(request("/x")));
        QVERIFY(startsWith(clients.back().readAnswer(), "HTTP/1.1 200 "));
    }
    QCOMPARE(clients.front().readAll(), std::string()); // the oldest had to go
}

void TestHttpdStreaming::closesWhileAnswersAreMade()
{
    std::promise<ExchangePtr> arrived;
    ExchangePtr exchange;
    {
        RunningServer server([&](const ExchangePtr &asked) { arrived.set_value(asked); });
        RawClient client = server.client();
        QVERIFY(client.send(request("/")));
        exchange = arrived.get_future().get();
    }
    QVERIFY(exchange->isClosed());
    QVERIFY(!exchange->write("x"));
}

QTEST_GUILESS_MAIN(TestHttpdStreaming)
#include "tst_httpd_streaming.moc"
