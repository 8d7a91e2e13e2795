// Requests and their limits, and answers as a whole.

#include "tests/cluster/httpd/running_server.h"

#include <atomic>
#include <csignal>

using namespace cluster;
using namespace tests;
using namespace std::chrono_literals;

class TestHttpd : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { std::signal(SIGPIPE, SIG_IGN); } // OpenSSL's client writes without MSG_NOSIGNAL
    void answersSeveralRequestsOnOneConnection();
    void answersPipelinedRequestsInOrder();
    void decodesPathsAndQueries();
    void refusesWhatItCannotRead_data();
    void refusesWhatItCannotRead();
    void refusesWhatIsTooLarge();
    void readsChunkedBodies();
    void invitesABodyThatAsksFirst();
    void closesForThoseWhoSpeakHttp10();
    void leavesBodiesOutOfAnswersToHead();
    void aForgottenExchangeIsAnsweredWith500();
    void anExceptionIsAnsweredWith500();
    void headersCannotAddLines();
};

void TestHttpd::answersSeveralRequestsOnOneConnection()
{
    RunningServer server(echo);
    RawClient client = server.client();
    for (int i = 0; i < 3; ++i) {
        QVERIFY(client.send(request("/n" + std::to_string(i), "Content-Length: 4\r\n", "body")));
        const std::string answer = client.readAnswer();
        QVERIFY(startsWith(answer, "HTTP/1.1 200 OK\r\n"));
        QCOMPARE(bodyOf(answer), "/n" + std::to_string(i) + "|body");
        QVERIFY(answer.find("x-method: POST") != std::string::npos);
        QVERIFY(answer.find("connection: close") == std::string::npos);
    }
    QVERIFY(client.send(request("/last", "Connection: close\r\n")));
    const std::string rest = client.readAll();
    QVERIFY(rest.find("connection: close") != std::string::npos);
}

void TestHttpd::answersPipelinedRequestsInOrder()
{
    RunningServer server(echo);
    RawClient client = server.client();
    QVERIFY(client.send(request("/a") + request("/b") + request("/c")));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/a|"));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/b|"));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/c|"));
}

void TestHttpd::decodesPathsAndQueries()
{
    RunningServer server([](const ExchangePtr &exchange) {
        const ServerRequest &asked = exchange->request();
        std::string text = asked.path;
        for (const auto &segment : asked.segments)
            text += "[" + segment + "]";
        for (const auto &[name, value] : asked.query)
            text += "{" + name + "=" + value + "}";
        exchange->reply({200, {}, text});
    });
    RawClient client = server.client();
    QVERIFY(client.send(request("/b/o%2Fx%20y/?a=1+2&b&a=%26")));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/b/o/x y/[b][o/x y]{a=1 2}{b=}{a=&}"));
    QVERIFY(client.send(request("http://host:1/p?q=1")));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/p[p]{q=1}"));
    QVERIFY(client.send(request("/")));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/"));
}

void TestHttpd::refusesWhatItCannotRead_data()
{
    QTest::addColumn<QString>("bytes");
    QTest::newRow("no HTTP") << "hello there\r\n\r\n";
    QTest::newRow("a folder above") << "GET /a/../b HTTP/1.1\r\nHost: h\r\n\r\n";
    QTest::newRow("a folder above, encoded") << "GET /a/%2e%2E HTTP/1.1\r\nHost: h\r\n\r\n";
    QTest::newRow("a broken escape") << "GET /a%2 HTTP/1.1\r\nHost: h\r\n\r\n";
    QTest::newRow("a NUL in the path") << "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n";
    QTest::newRow("a broken escape in the query") << "GET /a?b=%zz HTTP/1.1\r\nHost: h\r\n\r\n";
    QTest::newRow("no Host") << "GET / HTTP/1.1\r\n\r\n";
    QTest::newRow("two Hosts") << "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
    QTest::newRow("two lengths")
        << "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab";
    QTest::newRow("length and chunks")
        << "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    QTest::newRow("a negative length") << "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n";
    QTest::newRow("a chunk without a size")
        << "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
}

void TestHttpd::refusesWhatItCannotRead()
{
    QFETCH(QString, bytes);
    std::atomic<int> handled = 0;
    RunningServer server([&](const ExchangePtr &exchange) {
        ++handled;
        echo(exchange);
    });
    RawClient client = server.client();
    QVERIFY(client.send(bytes.toStdString()));
    const std::string answer = client.readAll();
    QVERIFY2(startsWith(answer, "HTTP/1.1 400 "), answer.c_str());
    QVERIFY(answer.find("connection: close") != std::string::npos);
    QCOMPARE(handled.load(), 0);
    QVERIFY(server.client().isConnected());
}

void TestHttpd::refusesWhatIsTooLarge()
{
    ListenerOptions options;
    options.limits.maxBodyBytes = 1000;
    options.limits.maxHeaderBytes = 2000;
    RunningServer server(echo, options);
    RawClient body = server.client();
    QVERIFY(body.send(request("/", "Content-Length: 1001\r\n", std::string(1001, 'x'))));
    QVERIFY(startsWith(body.readAll(), "HTTP/1.1 413 "));
    RawClient chunks = server.client();
    QVERIFY(chunks.send(request("/", "Transfer-Encoding: chunked\r\n", "3e9\r\n" + std::string(1001, 'x'))));
    QVERIFY(startsWith(chunks.readAll(), "HTTP/1.1 413 "));
    RawClient header = server.client();
    QVERIFY(header.send("GET / HTTP/1.1\r\nX: " + std::string(3000, 'x')));
    QVERIFY(startsWith(header.readAll(), "HTTP/1.1 431 "));
    RawClient line = server.client();
    QVERIFY(line.send("GET /" + std::string(3000, 'x')));
    QVERIFY(startsWith(line.readAll(), "HTTP/1.1 431 "));
    RawClient fits = server.client();
    QVERIFY(fits.send(request("/", "Content-Length: 1000\r\n", std::string(1000, 'x'))));
    QVERIFY(startsWith(fits.readAnswer(), "HTTP/1.1 200 "));
}

void TestHttpd::readsChunkedBodies()
{
    RunningServer server(echo);
    RawClient client = server.client();
    const std::string head = request("/c", "Transfer-Encoding: chunked\r\n");
    for (const char c : "POST" + head.substr(3) + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
        QVERIFY(client.send(std::string(1, c))); // byte by byte
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/c|abcde"));
}

void TestHttpd::invitesABodyThatAsksFirst()
{
    RunningServer server(echo);
    RawClient client = server.client();
    QVERIFY(client.send("PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
    QCOMPARE(client.readUntil("\r\n\r\n"), std::string("HTTP/1.1 100 Continue\r\n\r\n"));
    QVERIFY(client.send("ok"));
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/x|ok"));
}

void TestHttpd::closesForThoseWhoSpeakHttp10()
{
    RunningServer server([](const ExchangePtr &exchange) {
        if (exchange->request().path == "/stream") {
            exchange->begin(200, {});
            exchange->write("a");
            exchange->write("b");
            exchange->end();
        } else {
            echo(exchange);
        }
    });
    RawClient plain = server.client();
    QVERIFY(plain.send("GET /a HTTP/1.0\r\n\r\n"));
    QCOMPARE(bodyOf(plain.readAll()), std::string("/a|"));
    RawClient streamed = server.client();
    QVERIFY(streamed.send("GET /stream HTTP/1.0\r\n\r\n"));
    const std::string answer = streamed.readAll();
    QCOMPARE(bodyOf(answer), std::string("ab"));
    QVERIFY(answer.find("chunked") == std::string::npos);
}

void TestHttpd::leavesBodiesOutOfAnswersToHead()
{
    RunningServer server(echo);
    RawClient client = server.client();
    QVERIFY(client.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + request("/b")));
    const std::string head = client.readAnswer(false);
    QVERIFY(head.find("content-length: 3") != std::string::npos);
    QCOMPARE(bodyOf(client.readAnswer()), std::string("/b|"));
}

void TestHttpd::aForgottenExchangeIsAnsweredWith500()
{
    RunningServer server([](const ExchangePtr &) {});
    RawClient client = server.client();
    QVERIFY(client.send(request("/") + request("/")));
    QVERIFY(startsWith(client.readAnswer(), "HTTP/1.1 500 "));
    QVERIFY(startsWith(client.readAnswer(), "HTTP/1.1 500 "));
}

void TestHttpd::anExceptionIsAnsweredWith500()
{
    RunningServer server([](const ExchangePtr &) { throw std::runtime_error("hunter2"); });
    RawClient client = server.client();
    QVERIFY(client.send(request("/")));
    const std::string answer = client.readAnswer();
    QVERIFY(startsWith(answer, "HTTP/1.1 500 "));
    QVERIFY(answer.find("hunter2") == std::string::npos);
}

void TestHttpd::headersCannotAddLines()
{
    RunningServer server([](const ExchangePtr &exchange) {
        exchange->reply({200, {{"x-a", "b\r\nset-cookie: c"}}, {}});
    });
    RawClient client = server.client();
    QVERIFY(client.send(request("/")));
    QVERIFY(client.readAnswer().find("\r\nset-cookie") == std::string::npos);
}

QTEST_GUILESS_MAIN(TestHttpd)
#include "tst_httpd.moc"
