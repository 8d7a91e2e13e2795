// What carries HTTP, and what HTTP carries: upgrades, tunnels, TLS, Unix sockets.

#include "tests/cluster/httpd/running_server.h"

#include <QTemporaryDir>
#include <csignal>
#include <sys/stat.h>

using namespace cluster;
using namespace tests;
using namespace std::chrono_literals;

class TestHttpdCarriers : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { std::signal(SIGPIPE, SIG_IGN); } // OpenSSL's client writes without MSG_NOSIGNAL
    void upgradesWithBytesThatCameAlong();
    void connectsByCONNECT();
    void speaksTls();
    void asksForClientCertificates();
    void aClientThatNeverShakesHandsHoldsNobodyUp();
    void listensOnAPrivateUnixSocket();
    void saysThatAPortIsTaken();
};

void TestHttpdCarriers::upgradesWithBytesThatCameAlong()
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

void TestHttpdCarriers::connectsByCONNECT()
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

void TestHttpdCarriers::speaksTls()
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

void TestHttpdCarriers::asksForClientCertificates()
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

void TestHttpdCarriers::aClientThatNeverShakesHandsHoldsNobodyUp()
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

void TestHttpdCarriers::listensOnAPrivateUnixSocket()
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

void TestHttpdCarriers::saysThatAPortIsTaken()
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

QTEST_GUILESS_MAIN(TestHttpdCarriers)
#include "tst_httpd_carriers.moc"
