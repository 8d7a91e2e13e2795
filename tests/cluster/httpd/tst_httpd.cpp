#include "cluster/httpd/http_listener.h"
#include "tests/cluster/httpd/raw_client.h"

#include <QTemporaryDir>
#include <QTest>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <future>
#include <sys/stat.h>
#include <thread>

using namespace cluster;
using namespace std::chrono_literals;
using tests::RawClient;

namespace {

using ExchangePtr = std::shared_ptr<ServerExchange>;

/// A listener with a thread of its own.
class RunningServer
{
public:
    explicit RunningServer(HttpListener::Handler handler, ListenerOptions options = {})
    {
        auto opened = HttpListener::open(m_io, std::move(options), std::move(handler));
        if (!opened)
            qFatal("%s", opened.error().message.c_str());
        m_listener = std::move(*opened);
        m_thread = std::thread([this] { m_io.run(); });
    }
    ~RunningServer()
    {
        boost::asio::post(m_io, [this] { m_listener.reset(); });
        m_thread.join(); // ends by itself: nothing is left to do once all is closed
    }
    RawClient client() const { return RawClient::tcp(m_listener->port()); }
    unsigned short port() const { return m_listener->port(); }

private:
    boost::asio::io_context m_io;
    std::unique_ptr<HttpListener> m_listener;
    std::thread m_thread;
};

void echo(const ExchangePtr &exchange)
{
    const ServerRequest &request = exchange->request();
    exchange->reply({200, {{"x-method", request.method}}, request.path + "|" + request.body});
}

std::string request(const std::string &target, const std::string &more = {}, const std::string &body = {})
{
    return (body.empty() ? "GET " : "POST ") + target + " HTTP/1.1\r\nHost: h\r\n" + more + "\r\n" + body;
}

bool startsWith(const std::string &text, const std::string &start)
{
    return text.compare(0, start.size(), start) == 0;
}

std::string bodyOf(const std::string &answer)
{
    const auto at = answer.find("\r\n\r\n");
    return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

/// Sends back what comes, until the end.
void echoBytes(std::shared_ptr<ByteStream> stream)
{
    const auto buffer = std::make_shared<std::array<char, 1000>>();
    stream->readSome(buffer->data(), buffer->size(),
                     [stream, buffer](std::error_code error, std::size_t count) {
                         if (error)
                             return;
                         stream->write(std::string(buffer->data(), count), [stream](std::error_code failed) {
                             if (!failed)
                                 echoBytes(stream);
                         });
                     });
}

} // namespace

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
    void streamsInChunks();
    void aCutStreamHasNoLastChunk();
    void slowReadersHoldBackTheWriter();
    void tellsWhenTheClientGoesWhileItWaits();
    void aForgottenExchangeIsAnsweredWith500();
    void anExceptionIsAnsweredWith500();
    void headersCannotAddLines();
    void slowHeadersAndBodiesTimeOut();
    void idleConnectionsMakeWay();
    void upgradesWithBytesThatCameAlong();
    void connectsByCONNECT();
    void speaksTls();
    void asksForClientCertificates();
    void aClientThatNeverShakesHandsHoldsNobodyUp();
    void listensOnAPrivateUnixSocket();
    void saysThatAPortIsTaken();
    void closesWhileAnswersAreMade();
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

void TestHttpd::streamsInChunks()
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

void TestHttpd::aCutStreamHasNoLastChunk()
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

void TestHttpd::slowReadersHoldBackTheWriter()
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

void TestHttpd::tellsWhenTheClientGoesWhileItWaits()
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

void TestHttpd::slowHeadersAndBodiesTimeOut()
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

void TestHttpd::idleConnectionsMakeWay()
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

void TestHttpd::upgradesWithBytesThatCameAlong()
{
    RunningServer server([](const ExchangePtr &exchange) {
        QVERIFY(exchange->request().wantsUpgrade());
        exchange->upgrade({101, {{"connection", "Upgrade"}, {"upgrade", "echo"}}, {}},
                          [](Result<std::unique_ptr<ByteStream>> stream) {
                              QVERIFY(stream.has_value());
                              echoBytes(std::move(*stream));
                          });
    });
    RawClient client = server.client();
    QVERIFY(client.send(request("/", "Connection: keep-alive, Upgrade\r\nUpgrade: echo\r\n") + "early"));
    const std::string head = client.readUntil("\r\n\r\n");
    QVERIFY(startsWith(head, "HTTP/1.1 101 "));
    QVERIFY(head.find("content-length") == std::string::npos);
    QCOMPARE(client.readUntil("early"), std::string("early"));
    const std::string much(300000, 'm');
    std::thread sender([&] { client.send(much + "!"); });
    QCOMPARE(client.readUntil("!"), much + "!");
    sender.join();
    client.finishSending();
    QCOMPARE(client.readAll(), std::string());
}

void TestHttpd::connectsByCONNECT()
{
    RunningServer server([](const ExchangePtr &exchange) {
        QVERIFY(exchange->request().wantsUpgrade());
        QCOMPARE(exchange->request().target, std::string("10.4.0.7:8000"));
        exchange->upgrade({200, {}, {}}, [](Result<std::unique_ptr<ByteStream>> stream) {
            QVERIFY(stream.has_value());
            echoBytes(std::move(*stream));
        });
    });
    RawClient client = server.client();
    QVERIFY(client.send("CONNECT 10.4.0.7:8000 HTTP/1.1\r\nHost: 10.4.0.7:8000\r\n\r\n"));
    QVERIFY(startsWith(client.readUntil("\r\n\r\n"), "HTTP/1.1 200 "));
    QVERIFY(client.send("ping"));
    QCOMPARE(client.readUntil("ping"), std::string("ping"));
}

void TestHttpd::speaksTls()
{
    const auto ca = tests::makeCertificate("ca");
    const auto leaf = tests::makeCertificate("server", &ca);
    ListenerOptions options;
    options.tls = TlsIdentity{leaf.certificatePem, leaf.keyPem, {}, false};
    RunningServer server(echo, options);
    RawClient client = server.client();
    QVERIFY(client.startTls(ca.certificatePem));
    const std::string body(200000, 'b');
    for (int i = 0; i < 2; ++i) {
        QVERIFY(client.send(request("/t", "Content-Length: 200000\r\n", body)));
        QCOMPARE(bodyOf(client.readAnswer()), "/t|" + body);
    }
    RawClient plain = server.client();
    QVERIFY(plain.send(request("/")));
    QVERIFY(plain.readAll().find("HTTP") == std::string::npos);
    RawClient stranger = server.client();
    QVERIFY(!stranger.startTls(tests::makeCertificate("other").certificatePem));
}

void TestHttpd::asksForClientCertificates()
{
    const auto ca = tests::makeCertificate("ca");
    const auto leaf = tests::makeCertificate("server", &ca);
    const auto known = tests::makeCertificate("kube-apiserver", &ca);
    const auto stranger = tests::makeCertificate("stranger");
    ListenerOptions options;
    options.tls = TlsIdentity{leaf.certificatePem, leaf.keyPem, ca.certificatePem, false};
    RunningServer server(
        [](const ExchangePtr &exchange) {
            exchange->reply({200, {}, "cn=" + exchange->request().peerCommonName});
        },
        options);
    RawClient with = server.client();
    QVERIFY(with.startTls(ca.certificatePem, known.certificatePem, known.keyPem));
    QVERIFY(with.send(request("/")));
    QCOMPARE(bodyOf(with.readAnswer()), std::string("cn=kube-apiserver"));
    RawClient without = server.client();
    QVERIFY(without.startTls(ca.certificatePem));
    QVERIFY(without.send(request("/")));
    QCOMPARE(bodyOf(without.readAnswer()), std::string("cn="));
    RawClient wrong = server.client();
    wrong.startTls(ca.certificatePem, stranger.certificatePem, stranger.keyPem);
    wrong.send(request("/"));
    QVERIFY(wrong.readAll().find("200") == std::string::npos);
}

void TestHttpd::aClientThatNeverShakesHandsHoldsNobodyUp()
{
    const auto leaf = tests::makeCertificate("server");
    ListenerOptions options;
    options.tls = TlsIdentity{leaf.certificatePem, leaf.keyPem, {}, false};
    options.limits.headerTimeout = 200ms;
    options.limits.maxConnections = 1;
    RunningServer server(echo, options);
    RawClient silent = server.client();
    RawClient client = server.client();
    QVERIFY(client.startTls(leaf.certificatePem));
    QVERIFY(client.send(request("/")));
    QVERIFY(startsWith(client.readAnswer(), "HTTP/1.1 200 "));
    QCOMPARE(silent.readAll(), std::string());
}

void TestHttpd::listensOnAPrivateUnixSocket()
{
    QTemporaryDir folder;
    ListenerOptions options;
    options.unixPath = folder.filePath("s").toStdString();
    for (int round = 0; round < 2; ++round) {
        RunningServer server(echo, options);
        struct stat info
        {
        };
        QCOMPARE(::stat(options.unixPath.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777u, 0600u);
        RawClient client = RawClient::local(options.unixPath);
        QVERIFY(client.send(request("/u")));
        QCOMPARE(bodyOf(client.readAnswer()), std::string("/u|"));
        boost::asio::io_context io;
        const auto second = HttpListener::open(io, options, echo);
        QVERIFY(!second.has_value() && second.error().code == ErrorCode::AlreadyExists);
    }
    QVERIFY(!QFile::exists(folder.filePath("s")));
    QFile other(folder.filePath("s"));
    QVERIFY(other.open(QIODevice::WriteOnly));
    boost::asio::io_context io;
    QVERIFY(!HttpListener::open(io, options, echo).has_value()); // a file is not replaced
    QVERIFY(other.exists());
}

void TestHttpd::saysThatAPortIsTaken()
{
    RunningServer server(echo);
    boost::asio::io_context io;
    ListenerOptions options;
    options.port = server.port();
    const auto second = HttpListener::open(io, options, echo);
    QVERIFY(!second.has_value());
    QVERIFY(second.error().code == ErrorCode::AlreadyExists);
    options.address = "nowhere";
    QVERIFY(HttpListener::open(io, options, echo).error().code == ErrorCode::InvalidArgument);
    options = {};
    options.tls = TlsIdentity{"no PEM", "none", {}, false};
    QVERIFY(HttpListener::open(io, options, echo).error().code == ErrorCode::InvalidArgument);
}

void TestHttpd::closesWhileAnswersAreMade()
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

QTEST_GUILESS_MAIN(TestHttpd)
#include "tst_httpd.moc"
