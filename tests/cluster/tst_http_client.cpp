#include "cluster/net/http_client.h"
#include "tests/support/loopback_server.h"

#include <QTest>
#include <atomic>
#include <thread>

using namespace cluster;
using namespace std::chrono_literals;
using tests::Exchange;
using tests::LoopbackServer;

namespace {

const auto ignoreHeaders = [](const HttpResponse &) -> Result<Reading> { return Reading::Continue; };
const auto ignoreData = [](std::string_view) -> Result<Reading> { return Reading::Continue; };

HttpRequest get(const std::string &url)
{
    HttpRequest request;
    request.url = url;
    return request;
}

} // namespace

class TestHttpClient : public QObject
{
    Q_OBJECT

private slots:
    void sendsAndReceives();
    void anErrorStatusIsASuccessfulExchange();
    void handsDataOnAsItArrives();
    void cancelsWhileTheServerIsSilent();
    void cancelledBeforehandNeverConnects();
    void limitsTheTime_data();
    void limitsTheTime();
    void namesWhatWentWrong_data();
    void namesWhatWentWrong();
    void aHandlerStopsOrFailsTheTransfer();
    void refusesALineBreakInAHeader();
    void refusesABodyOverTheLimit();
    void followsRedirectsOnlyWhenAsked();
    void goesAroundTheProxyForLoopback();
    void knowsLoopbackUrls_data();
    void knowsLoopbackUrls();
    void keepsTheKeyOutOfHostNames();
    void manyThreadsMayCallAtOnce();
};

void TestHttpClient::sendsAndReceives()
{
    LoopbackServer server([](Exchange &exchange) {
        exchange.respond(201, "text/x", "got " + exchange.request().body, {{"X-Two", "2"}});
    });
    HttpRequest request = get(server.url("/a?b=c"));
    request.method = "POST";
    request.headers = {{"X-One", "1"}, {"X-None", ""}};
    request.body = std::string("\0binary", 7);
    HttpClient client;
    const Result<HttpResponse> response = client.send(request);
    QVERIFY2(response.has_value(), response ? "" : response.error().message.c_str());
    QCOMPARE(response->status, 201);
    QVERIFY(response->body == "got " + request.body);
    QVERIFY(response->header("x-TWO") == "2");
    QVERIFY(!response->header("x-three").has_value());
    const auto seen = server.requests().at(0);
    QCOMPARE(seen.method, std::string("POST"));
    QCOMPARE(seen.target, std::string("/a?b=c"));
    QCOMPARE(seen.headers.at("x-one"), std::string("1"));
    QCOMPARE(seen.headers.at("x-none"), std::string());
    QVERIFY(!seen.headers.contains("expect"));
}

void TestHttpClient::anErrorStatusIsASuccessfulExchange()
{
    LoopbackServer server([](Exchange &exchange) { exchange.respond(503, "text/plain", "busy"); });
    HttpClient client;
    const Result<HttpResponse> response = client.send(get(server.url("/")));
    QVERIFY(response.has_value());
    QCOMPARE(response->status, 503);
    QCOMPARE(response->body, std::string("busy"));
}

void TestHttpClient::handsDataOnAsItArrives()
{
    // The second piece is sent only once the first has been seen: buffering would hang here.
    std::atomic<bool> sawFirst = false;
    LoopbackServer server([&](Exchange &exchange) {
        exchange.write("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n");
        exchange.beginChunked(200, "text/event-stream");
        exchange.writeChunk("one");
        while (!sawFirst)
            std::this_thread::yield();
        exchange.writeChunk("two");
        exchange.endChunks();
    });
    std::string all;
    int headerCalls = 0;
    HttpClient client;
    const auto onHeaders = [&](const HttpResponse &response) -> Result<Reading> {
        ++headerCalls;
        const bool isFinal = response.status == 200 && !response.header("x-interim");
        return isFinal ? Result<Reading>(Reading::Continue) : fail(ErrorCode::Unknown, "interim answer told");
    };
    const auto onData = [&](std::string_view bytes) -> Result<Reading> {
        all += bytes;
        sawFirst = true;
        return Reading::Continue;
    };
    HttpOptions options;
    options.deadline = Deadline::after(20s);
    const auto response = client.stream(get(server.url("/")), onHeaders, onData, options);
    QVERIFY2(response.has_value(), response ? "" : response.error().message.c_str());
    QCOMPARE(all, std::string("onetwo"));
    QCOMPARE(headerCalls, 1);
    QCOMPARE(response->body, std::string());
}

void TestHttpClient::cancelsWhileTheServerIsSilent()
{
    std::atomic<bool> isReceived = false;
    std::atomic<bool> sawClientLeave = false;
    LoopbackServer server([&](Exchange &exchange) {
        isReceived = true;
        sawClientLeave = exchange.waitForClientToLeave();
    });
    CancelSource source;
    HttpOptions options;
    options.cancel = source.get_token();
    std::thread canceller([&] {
        while (!isReceived)
            std::this_thread::yield();
        source.request_stop();
    });
    HttpClient client;
    const auto response = client.send(get(server.url("/")), options);
    canceller.join();
    QVERIFY(!response.has_value());
    QVERIFY(response.error().code == ErrorCode::Cancelled);
    QTRY_VERIFY(sawClientLeave.load());
}

void TestHttpClient::cancelledBeforehandNeverConnects()
{
    LoopbackServer server([](Exchange &exchange) { exchange.respond(200, "text/plain", ""); });
    CancelSource source;
    source.request_stop();
    HttpOptions options;
    options.cancel = source.get_token();
    HttpClient client;
    const auto response = client.send(get(server.url("/")), options);
    QVERIFY(!response && response.error().code == ErrorCode::Cancelled);
    QCOMPARE(server.requests().size(), std::size_t{0});
}

void TestHttpClient::limitsTheTime_data()
{
    QTest::addColumn<int>("idleMilliseconds");
    QTest::addColumn<int>("deadlineMilliseconds");
    QTest::addColumn<bool>("sendsSome");
    QTest::addColumn<QString>("message");
    QTest::newRow("silent from the start") << 100 << 0 << false << "has sent nothing for 100 ms";
    QTest::newRow("silent in the middle") << 100 << 0 << true << "has sent nothing for 100 ms";
    QTest::newRow("deadline") << 0 << 100 << true << "in the time allowed";
    QTest::newRow("deadline has passed") << 0 << -1 << false << "in the time allowed";
}

void TestHttpClient::limitsTheTime()
{
    QFETCH(int, idleMilliseconds);
    QFETCH(int, deadlineMilliseconds);
    QFETCH(bool, sendsSome);
    QFETCH(QString, message);
    LoopbackServer server([&](Exchange &exchange) {
        if (sendsSome) {
            exchange.beginChunked(200, "text/plain");
            exchange.writeChunk("x");
        }
        exchange.waitForClientToLeave();
    });
    HttpOptions options;
    options.idleTimeout = std::chrono::milliseconds(idleMilliseconds);
    if (deadlineMilliseconds != 0)
        options.deadline = Deadline::after(std::chrono::milliseconds(deadlineMilliseconds));
    HttpClient client;
    const auto response = client.stream(get(server.url("/")), ignoreHeaders, ignoreData, options);
    QVERIFY(!response.has_value());
    QVERIFY(response.error().code == ErrorCode::DeadlineExceeded);
    QVERIFY2(QString::fromStdString(response.error().message).contains(message),
             response.error().message.c_str());
}

void TestHttpClient::namesWhatWentWrong_data()
{
    QTest::addColumn<QString>("answer");
    QTest::addColumn<QString>("url");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("message");
    const int unavailable = static_cast<int>(ErrorCode::Unavailable);
    const int dataLoss = static_cast<int>(ErrorCode::DataLoss);
    const int invalid = static_cast<int>(ErrorCode::InvalidArgument);
    QTest::newRow("refused") << ""
                             << "http://127.0.0.1:1/" << unavailable
                             << "nothing accepts connections at 127.0.0.1:1";
    QTest::newRow("no such host") << ""
                                  << "http://no-such-host.invalid/" << unavailable << "no-such-host.invalid";
    QTest::newRow("other protocol") << ""
                                    << "ftp://host/" << invalid << "can't be used";
    QTest::newRow("file") << ""
                          << "file:///etc/hostname" << invalid << "can't be used";
    QTest::newRow("no URL") << ""
                            << "http://[oops" << invalid << "can't be used";
    QTest::newRow("garbage") << "this is no HTTP at all\r\n\r\n"
                             << "" << unavailable << "not proper HTTP";
    QTest::newRow("closed at once") << ""
                                    << "" << unavailable << "without an answer";
    QTest::newRow("cut in the body") << "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
                                     << "" << dataLoss << "after 3 bytes";
    QTest::newRow("cut between chunks") << "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
                                        << "" << dataLoss << "in the middle of its answer";
    QTest::newRow("cut in the headers") << "HTTP/1.1 200 OK\r\nContent-Le"
                                        << "" << unavailable << "";
    QTest::newRow("http instead of https")
        << "HTTP/1.1 400 Bad\r\n\r\n"
        << "https" << static_cast<int>(ErrorCode::FailedPrecondition) << "wants http instead of https";
}

void TestHttpClient::namesWhatWentWrong()
{
    QFETCH(QString, answer);
    QFETCH(QString, url);
    QFETCH(int, code);
    QFETCH(QString, message);
    LoopbackServer server([&](Exchange &exchange) { exchange.write(answer.toStdString()); });
    std::string target = url.toStdString();
    if (url.isEmpty())
        target = server.url("/");
    else if (url == "https")
        target = "https" + server.url("/").substr(4);
    HttpOptions options;
    options.deadline = Deadline::after(20s);
    HttpClient client;
    const auto response = client.send(get(target), options);
    QVERIFY(!response.has_value());
    QVERIFY2(QString::fromStdString(response.error().message).contains(message),
             response.error().message.c_str());
    QCOMPARE(static_cast<int>(response.error().code), code);
}

void TestHttpClient::aHandlerStopsOrFailsTheTransfer()
{
    LoopbackServer server([](Exchange &exchange) {
        exchange.beginChunked(200, "text/plain");
        exchange.writeChunk("x");
        exchange.waitForClientToLeave();
    });
    HttpClient client;
    const auto stop = [](std::string_view) -> Result<Reading> { return Reading::Stop; };
    QVERIFY(client.stream(get(server.url("/")), ignoreHeaders, stop).has_value());
    const auto failing
        = [](std::string_view) -> Result<Reading> { return fail(ErrorCode::Aborted, "enough"); };
    const auto failed = client.stream(get(server.url("/")), ignoreHeaders, failing);
    QVERIFY(!failed && failed.error().code == ErrorCode::Aborted);
    const auto throwing = [](std::string_view) -> Result<Reading> { throw std::runtime_error("oops"); };
    const auto thrown = client.stream(get(server.url("/")), ignoreHeaders, throwing);
    QVERIFY(!thrown && thrown.error().code == ErrorCode::Internal);
    QVERIFY(thrown.error().message.find("oops") != std::string::npos);
    const auto early = [](const HttpResponse &) -> Result<Reading> { return Reading::Stop; };
    const auto stopped = client.stream(get(server.url("/")), early, throwing);
    QVERIFY(stopped && stopped->status == 200);
}

void TestHttpClient::refusesALineBreakInAHeader()
{
    HttpRequest request = get("http://127.0.0.1:1/");
    request.headers = {{"Authorization", "Bearer secret\r\nX: 1"}};
    HttpClient client;
    const auto response = client.send(request);
    QVERIFY(!response && response.error().code == ErrorCode::InvalidArgument);
    QVERIFY(response.error().message.find("Authorization") != std::string::npos);
    QVERIFY(response.error().message.find("secret") == std::string::npos);
}

void TestHttpClient::refusesABodyOverTheLimit()
{
    LoopbackServer server(
        [](Exchange &exchange) { exchange.respond(200, "text/plain", std::string(11, 'x')); });
    HttpOptions options;
    HttpClient client;
    options.maxBodyBytes = 11;
    QVERIFY(client.send(get(server.url("/")), options).has_value());
    options.maxBodyBytes = 10;
    const auto response = client.send(get(server.url("/")), options);
    QVERIFY(!response && response.error().code == ErrorCode::ResourceExhausted);
}

void TestHttpClient::followsRedirectsOnlyWhenAsked()
{
    LoopbackServer other([](Exchange &exchange) { exchange.respond(200, "text/plain", "there"); });
    LoopbackServer server([&](Exchange &exchange) {
        exchange.respond(302, "text/plain", "moved",
                         {{"Location", "http://localhost:" + std::to_string(other.port()) + "/x"}});
    });
    HttpRequest request = get(server.url("/"));
    request.headers = {{"Authorization", "Bearer secret"}};
    HttpClient client;
    const auto kept = client.send(request);
    QVERIFY(kept && kept->status == 302 && kept->body == "moved");
    HttpOptions options;
    options.followRedirects = true;
    const auto followed = client.send(request, options);
    QVERIFY(followed && followed->status == 200 && followed->body == "there");
    QVERIFY(followed->url.ends_with("/x"));
    QVERIFY(!followed->header("location").has_value());
    QVERIFY(!other.requests().at(0).headers.contains("authorization"));
}

void TestHttpClient::goesAroundTheProxyForLoopback()
{
    LoopbackServer proxy([](Exchange &exchange) { exchange.respond(200, "text/plain", "proxy"); });
    LoopbackServer server([](Exchange &exchange) { exchange.respond(200, "text/plain", "server"); });
    qputenv("http_proxy", proxy.url().c_str());
    HttpClient client;
    const auto direct = client.send(get(server.url("/")));
    const auto viaProxy = client.send(get("http://some-host.invalid/x"));
    qunsetenv("http_proxy");
    QVERIFY(direct && direct->body == "server");
    QVERIFY(viaProxy && viaProxy->body == "proxy");
}

void TestHttpClient::knowsLoopbackUrls_data()
{
    QTest::addColumn<QString>("url");
    QTest::addColumn<bool>("expected");
    QTest::newRow("name") << "http://localhost:1/x" << true;
    QTest::newRow("name in capitals") << "http://LOCALHOST" << true;
    QTest::newRow("below localhost") << "http://a.localhost:8" << true;
    QTest::newRow("127.0.0.1") << "https://127.0.0.1:1" << true;
    QTest::newRow("127.9.9.9") << "http://127.9.9.9/" << true;
    QTest::newRow("IPv6") << "http://[::1]:80/" << true;
    QTest::newRow("name that begins so") << "http://localhost.example/" << false;
    QTest::newRow("user that looks so") << "http://localhost@example.org/" << false;
    QTest::newRow("other address") << "http://10.0.0.1/" << false;
    QTest::newRow("name that looks so") << "http://127.0.0.1.example/" << false;
    QTest::newRow("nonsense") << "nonsense" << false;
}

void TestHttpClient::knowsLoopbackUrls()
{
    QFETCH(QString, url);
    QFETCH(bool, expected);
    QCOMPARE(isLoopbackUrl(url.toStdString()), expected);
}

void TestHttpClient::keepsTheKeyOutOfHostNames()
{
    QCOMPARE(hostOfUrl("https://user:secret@host:8443/p?token=x"), std::string("host:8443"));
    QCOMPARE(hostOfUrl("http://host/p"), std::string("host"));
    QCOMPARE(hostOfUrl("http://[oops"), std::string("(not a URL)"));
}

void TestHttpClient::manyThreadsMayCallAtOnce()
{
    LoopbackServer server(
        [](Exchange &exchange) { exchange.respond(200, "text/plain", exchange.request().target); });
    HttpClient client;
    std::atomic<int> rightCount = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int j = 0; j < 10; ++j) {
                const std::string path = "/" + std::to_string(i) + "/" + std::to_string(j);
                const auto response = client.send(get(server.url(path)));
                rightCount += response && response->body == path;
            }
        });
    }
    for (std::thread &thread : threads)
        thread.join();
    QCOMPARE(rightCount.load(), 80);
}

QTEST_GUILESS_MAIN(TestHttpClient)
#include "tst_http_client.moc"
