#include "engine/serving/http_frontend.h"
#include "fake_backend.h"
#include "test_client.h"

#include <QTest>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

using namespace engine;
using Json = nlohmann::json;

namespace {

/// A server with a fake engine on its own thread.
class Fixture
{
public:
    explicit Fixture(ServerOptions given = {}, bool embeds = false)
        : backend(io), metrics({"fake", given.dialect, 512, 4096, true})
    {
        given.host = "127.0.0.1";
        given.port = 0;
        given.servedModelNames = {"fake"};
        given.modelRoot = "models/fake.gguf";
        given.version = "1.2.3";
        backend.modelFacts.isEmbeddingModel = embeds;
        frontend = std::make_unique<HttpFrontend>(io, given, backend, metrics);
        const auto listening = frontend->listen();
        if (!listening)
            qFatal("%s", listening.error().message.c_str());
        port = frontend->port();
        thread = std::thread([this] { io.run(); });
    }

    ~Fixture()
    {
        run([this] { frontend.reset(); });
        work.reset();
        io.stop();
        thread.join();
    }

    /// Does something on the server's thread and waits for it.
    void run(std::function<void()> job)
    {
        std::promise<void> done;
        boost::asio::post(io, [&] {
            job();
            done.set_value();
        });
        done.get_future().wait();
    }

    boost::asio::io_context io;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
    FakeBackend backend;
    ServerMetrics metrics;
    std::unique_ptr<HttpFrontend> frontend;
    std::uint16_t port = 0;
    std::thread thread;
};

const std::string kPrompt = R"({"prompt": "a b c", "max_tokens": 3})";
const std::string kStream = R"({"prompt": "a b c", "max_tokens": 3, "stream": true})";

} // namespace

class HttpTest : public QObject
{
    Q_OBJECT

private slots:
    void aCompletionIsAnswered();
    void pipelinedRequestsAreAnsweredInOrder();
    void aStreamEndsWithDone();
    void aLeavingClientCancels_data();
    void aLeavingClientCancels();
    void aSlowReaderHasABoundAndHindersNobody();
    void aLargeBodyIsTaken();
    void malformedRequestsAreRefused_data();
    void malformedRequestsAreRefused();
    void aHeaderThatNeverEndsIsTimedOut();
    void aLostRunnerIsNeverAFinish();
    void aRestartingEngineAnswers503();
    void aFullQueueAnswers503WithRetryAfter();
    void stopLetsRequestsEndWithinTheTimeout();
    void stopCancelsWhatDoesNotEnd();
    void aPortInUseIsOneClearLine();
    void keysAreCheckedByPath();
    void embeddingModelsHaveOnlyEmbeddings();
    void modelsWithoutATemplateRefuseChat();
    void thoughtsAreSplitFromTheAnswer();
};

void HttpTest::aCompletionIsAnswered()
{
    Fixture server;
    TestClient client(server.port);
    client.post("/v1/completions", kPrompt, "X-Request-Id: mine\r\n");
    const auto answer = client.read();
    QCOMPARE(answer.status, 200);
    const Json json = Json::parse(answer.body);
    QCOMPARE(json["id"].get<std::string>(), std::string("cmpl-mine"));
    QCOMPARE(json["choices"][0]["text"].get<std::string>(), std::string("w1 w2 w3 "));
    QCOMPARE(json["choices"][0]["finish_reason"].get<std::string>(), std::string("length"));
    QCOMPARE(json["usage"]["total_tokens"].get<int>(), 6);
    QVERIFY(json["system_fingerprint"].get<std::string>().starts_with("slipway-1.2.3-"));
}

void HttpTest::pipelinedRequestsAreAnsweredInOrder()
{
    Fixture server;
    TestClient client(server.port);
    for (int i = 0; i < 20; ++i)
        client.post("/v1/completions", kPrompt, "X-Request-Id: n" + std::to_string(i) + "\r\n");
    client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\nHEAD /health HTTP/1.1\r\nHost: x\r\nConnection: "
                "close\r\n\r\n");
    for (int i = 0; i < 20; ++i)
        QCOMPARE(Json::parse(client.read().body)["id"].get<std::string>(), "cmpl-n" + std::to_string(i));
    QCOMPARE(client.read().status, 200);
    const auto head = client.read(true);
    QCOMPARE(head.status, 405);
    QCOMPARE(head.headers.at("allow"), std::string("GET"));
    QVERIFY(client.isClosed());
}

void HttpTest::aStreamEndsWithDone()
{
    Fixture server;
    TestClient client(server.port);
    client.post("/v1/completions", kStream);
    const auto answer = client.read();
    QCOMPARE(answer.headers.at("content-type"), std::string("text/event-stream; charset=utf-8"));
    QVERIFY(answer.body.ends_with("\n\ndata: [DONE]\n\n"));
    client.post("/v1/completions", kPrompt); // the connection goes on
    QCOMPARE(client.read().status, 200);
}

void HttpTest::aLeavingClientCancels_data()
{
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("body");
    QTest::addColumn<bool>("waitForStream");
    const QString chat = R"({"messages": [{"role": "user", "content": "a"}], "max_tokens": 3%1})";
    QTest::newRow("completion") << "/v1/completions" << QString::fromStdString(kPrompt) << false;
    QTest::newRow("completion stream") << "/v1/completions" << QString::fromStdString(kStream) << true;
    QTest::newRow("chat") << "/v1/chat/completions" << chat.arg("") << false;
    QTest::newRow("chat stream") << "/v1/chat/completions" << chat.arg(R"(, "stream": true)") << true;
    QTest::newRow("several choices") << "/v1/completions"
                                     << R"({"prompt": ["a", "b"], "n": 2, "max_tokens": 3})" << false;
}

void HttpTest::aLeavingClientCancels()
{
    QFETCH(QString, path);
    QFETCH(QString, body);
    QFETCH(bool, waitForStream);
    ServerOptions options;
    options.loadTracking = true;
    Fixture server(options);
    server.backend.silent = true;
    {
        TestClient client(server.port);
        client.post(path.toStdString(), body.toStdString());
        QTRY_VERIFY(server.backend.running > 0);
        if (waitForStream)
            QVERIFY(!client.readUntil("\r\n\r\n").empty());
    }
    QTRY_COMPARE(server.backend.running.load(), 0);
    QVERIFY(server.backend.cancelled > 0);
    TestClient other(server.port);
    const auto load = [&] {
        other.send("GET /load HTTP/1.1\r\nHost: x\r\n\r\n");
        return other.read().body;
    };
    QTRY_COMPARE(load(), std::string("{\"server_load\":0}"));
}

void HttpTest::aSlowReaderHasABoundAndHindersNobody()
{
    ServerOptions options;
    options.maxStreamBacklogBytes = 256 * 1024;
    options.writeTimeout = std::chrono::milliseconds(1500);
    Fixture server(options);
    server.backend.endless = true;
    server.backend.wordEnd = std::string(200, 'x');
    TestClient slow(server.port, 4096);
    slow.post("/v1/completions", R"({"prompt": "a", "max_tokens": 400, "stream": true})");
    QVERIFY(!slow.readUntil("data: ").empty());
    TestClient other(server.port);
    other.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    QCOMPARE(other.read().status, 200);
    QTRY_COMPARE_WITH_TIMEOUT(server.backend.cancelled.load(), 1, 15000); // given up, not kept for ever
}

void HttpTest::aLargeBodyIsTaken()
{
    Fixture server;
    TestClient client(server.port);
    const std::string word(1024 * 1024, 'x');
    client.post("/tokenize", R"({"prompt": ")" + word + R"("})");
    QCOMPARE(Json::parse(client.read().body)["count"].get<int>(), 1);
    client.post("/v1/completions",
                R"({"prompt": ")" + word + " " + word + R"(", "truncate_prompt_tokens": 1})");
    QCOMPARE(Json::parse(client.read().body)["usage"]["prompt_tokens"].get<int>(), 1);
}

void HttpTest::malformedRequestsAreRefused_data()
{
    QTest::addColumn<QByteArray>("request");
    QTest::addColumn<int>("status");
    QTest::newRow("not http") << QByteArray("hello there\r\n\r\n") << 400;
    QTest::newRow("bad version") << QByteArray("GET / HTTP/9.9\r\n\r\n") << 400;
    QTest::newRow("bad length") << QByteArray("POST /tokenize HTTP/1.1\r\nContent-Length: many\r\n\r\n")
                                << 400;
    QTest::newRow("length twice") << QByteArray(
        "POST /tokenize HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
                                  << 400;
    QTest::newRow("huge header") << "GET / HTTP/1.1\r\nX: " + QByteArray(100000, 'x') + "\r\n\r\n" << 431;
    QTest::newRow("huge body") << QByteArray("POST /tokenize HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n")
                               << 413;
    QTest::newRow("bad chunk") << QByteArray(
        "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
                               << 400;
}

void HttpTest::malformedRequestsAreRefused()
{
    QFETCH(QByteArray, request);
    QFETCH(int, status);
    Fixture server;
    TestClient client(server.port);
    client.send(request.toStdString());
    QCOMPARE(client.read().status, status);
    QVERIFY(client.isClosed());
    TestClient next(server.port); // and the server goes on
    next.post("/v1/completions", kPrompt);
    QCOMPARE(next.read().status, 200);
}

void HttpTest::aHeaderThatNeverEndsIsTimedOut()
{
    ServerOptions options;
    options.headerTimeout = std::chrono::milliseconds(200);
    Fixture server(options);
    TestClient client(server.port);
    client.send("GET /health HTTP/1.1\r\nX-Slow: ");
    QCOMPARE(client.read().status, 408);
    TestClient idle(server.port);
    QVERIFY(idle.isClosed()); // without a word
}

void HttpTest::aLostRunnerIsNeverAFinish()
{
    Fixture server;
    server.backend.failAfter = 2;
    TestClient client(server.port);
    client.post("/v1/completions", kPrompt);
    const auto answer = client.read();
    QCOMPARE(answer.status, 503);
    QCOMPARE(Json::parse(answer.body)["error"]["code"].get<int>(), 503);
    client.post("/v1/completions", kStream);
    const auto stream = client.read();
    QCOMPARE(stream.status, 200);
    const std::string finish = "\"finish_reason\":\"l";
    const std::string error = "data: {\"error\": {\"message\": \"The engine process was lost.\"";
    QVERIFY(stream.body.find(finish) == std::string::npos);
    QVERIFY(stream.body.find(error) != std::string::npos);
    QVERIFY(stream.body.ends_with("data: [DONE]\n\n"));
}

void HttpTest::aRestartingEngineAnswers503()
{
    Fixture server;
    server.run([&] { server.backend.stateNow = BackendState::Restarting; });
    TestClient client(server.port);
    client.post("/v1/completions", kPrompt);
    const auto answer = client.read();
    QCOMPARE(answer.status, 503);
    QVERIFY(answer.headers.count("retry-after") == 1);
    QVERIFY(Json::parse(answer.body)["error"]["message"].get<std::string>().find("signal 6")
            != std::string::npos);
    client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    QCOMPARE(client.read().status, 503);
}

void HttpTest::aFullQueueAnswers503WithRetryAfter()
{
    ServerOptions options;
    options.maxNumQueuedRequests = 2;
    Fixture server(options);
    server.backend.silent = true;
    TestClient first(server.port);
    first.post("/v1/completions", R"({"prompt": "a", "n": 2})");
    QTRY_COMPARE(server.backend.running.load(), 2);
    TestClient second(server.port);
    second.post("/v1/completions", kStream);
    const auto answer = second.read();
    QCOMPARE(answer.status, 503);
    QCOMPARE(answer.headers.at("retry-after"), std::string("1"));
    QVERIFY(Json::parse(answer.body)["error"]["message"].get<std::string>().find("currently busy")
            != std::string::npos);
    first.close();
    QTRY_COMPARE(server.backend.running.load(), 0);
    server.backend.silent = false;
    second.post("/v1/completions", kPrompt); // there is room again
    QCOMPARE(second.read().status, 200);
}

void HttpTest::stopLetsRequestsEndWithinTheTimeout()
{
    ServerOptions options;
    options.shutdownTimeout = std::chrono::milliseconds(20000);
    Fixture server(options);
    TestClient idle(server.port);
    TestClient client(server.port);
    client.post("/v1/completions", R"({"prompt": "a", "max_tokens": 400})");
    QTRY_VERIFY(server.backend.tokensMade > 0);
    std::promise<void> stopped;
    server.run([&] { server.frontend->stop([&] { stopped.set_value(); }); });
    QCOMPARE(client.read().status, 200);
    QVERIFY(idle.isClosed());
    client.close();
    stopped.get_future().wait();
}

void HttpTest::stopCancelsWhatDoesNotEnd()
{
    Fixture server;
    server.backend.silent = true;
    TestClient client(server.port);
    client.post("/v1/completions", kStream);
    QTRY_COMPARE(server.backend.running.load(), 1);
    std::promise<void> stopped;
    server.run([&] { server.frontend->stop([&] { stopped.set_value(); }); });
    stopped.get_future().wait();
    QCOMPARE(server.backend.running.load(), 0);
    QVERIFY(!client.read().whole);
}

void HttpTest::aPortInUseIsOneClearLine()
{
    Fixture server;
    boost::asio::io_context io;
    ServerOptions options;
    options.host = "127.0.0.1";
    options.port = server.port;
    options.servedModelNames = {"fake"};
    FakeBackend backend(io);
    ServerMetrics metrics({"fake", ApiDialect::Newest, 512, 4096, true});
    HttpFrontend second(io, options, backend, metrics);
    const auto listening = second.listen();
    QVERIFY(!listening);
    QCOMPARE(listening.error().code, cluster::ErrorCode::AlreadyExists);
    QVERIFY(listening.error().message.find("port " + std::to_string(server.port)) != std::string::npos);
}

void HttpTest::keysAreCheckedByPath()
{
    ServerOptions options;
    options.apiKeys = {"one", "two"};
    Fixture server(options);
    TestClient client(server.port);
    const auto status = [&](const std::string &path, const std::string &header) {
        client.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + header + "\r\n");
        return client.read().status;
    };
    QCOMPARE(status("/v1/models", ""), 401);
    QCOMPARE(status("/v1/models", "Authorization: Bearer three\r\n"), 401);
    QCOMPARE(status("/v1/models", "Authorization: Bearer on\r\n"), 401);
    QCOMPARE(status("/v1/models", "Authorization: Bearer \r\n"), 401);
    QCOMPARE(status("/v1/models", "Authorization: bearer two\r\n"), 200);
    QCOMPARE(status("/v1/nothing", ""), 401);
    QCOMPARE(status("/version", ""), 200);
    QCOMPARE(status("/metrics", ""), 200);
}

void HttpTest::embeddingModelsHaveOnlyEmbeddings()
{
    Fixture server({}, true);
    TestClient client(server.port);
    client.post("/v1/completions", kPrompt);
    QCOMPARE(client.read().status, 404);
    client.post("/v1/embeddings", R"({"input": ["a", "b c"]})");
    const Json json = Json::parse(client.read().body);
    QCOMPARE(json["data"].size(), std::size_t(2));
    QVERIFY(qAbs(json["data"][1]["embedding"][0].get<double>() - 0.6) < 1e-6);
    QCOMPARE(json["usage"]["prompt_tokens"].get<int>(), 3);
    client.post("/v1/embeddings", R"({"input": "a", "encoding_format": "base64"})");
    QCOMPARE(Json::parse(client.read().body)["data"][0]["embedding"].get<std::string>(),
             std::string("mpkZP83MTD8="));
}

void HttpTest::modelsWithoutATemplateRefuseChat()
{
    Fixture server;
    server.run([&] { server.backend.modelFacts.hasChatTemplate = false; });
    TestClient client(server.port);
    client.post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "a"}]})");
    const auto answer = client.read();
    QCOMPARE(answer.status, 400);
    QVERIFY(answer.body.find("no chat template") != std::string::npos);
    client.post("/v1/completions", kPrompt);
    QCOMPARE(client.read().status, 200);
}

void HttpTest::thoughtsAreSplitFromTheAnswer()
{
    ServerOptions options;
    options.reasoningParser = "deepseek_r1";
    Fixture server(options);
    server.backend.wordEnd = "</think>"; // "w1</think>w2</think>": one thought, the rest is content
    TestClient client(server.port);
    const std::string chat = R"({"messages": [{"role": "user", "content": "a"}], "max_tokens": 2)";
    client.post("/v1/chat/completions", chat + "}");
    const Json json = Json::parse(client.read().body);
    QCOMPARE(json["choices"][0]["message"]["reasoning"].get<std::string>(), std::string("w1"));
    QCOMPARE(json["choices"][0]["message"]["content"].get<std::string>(), std::string("w2</think>"));
    QCOMPARE(json["usage"]["completion_tokens_details"]["reasoning_tokens"].get<int>(), 1);
    client.post("/v1/chat/completions", chat + R"(, "stream": true})");
    const std::string body = client.read().body;
    const std::string thought = "\"delta\":{\"reasoning\":\"w1\"}";
    const std::string content = "\"delta\":{\"content\":\"w2</think>\"}";
    QVERIFY(body.find(thought) != std::string::npos);
    QVERIFY(body.find(content) != std::string::npos);
}

QTEST_GUILESS_MAIN(HttpTest)
#include "tst_http.moc"
