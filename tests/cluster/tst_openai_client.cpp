#include "cluster/openai/client.h"
#include "cluster/openai/request_text.h"
#include "tests/support/loopback_server.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>
#include <atomic>
#include <thread>

using namespace cluster;
using namespace std::chrono_literals;
using tests::Exchange;
using tests::LoopbackServer;

namespace {

const std::string secret = "sk-very-secret";

std::string chunkEvent(const std::string &delta, const std::string &finish = "null")
{
    return R"(data: {"id":"c","model":"m","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)"
        + finish + "}]}\n\n";
}

void respondWithStream(Exchange &exchange)
{
    exchange.beginChunked(200, "text/event-stream; charset=utf-8");
    exchange.writeChunk(chunkEvent(R"({"role":"assistant","content":""})"));
    exchange.writeChunk(chunkEvent(R"({"content":"Hi"})"));
    exchange.writeChunk(chunkEvent(R"({})", R"("stop")"));
    exchange.writeChunk(
        R"(data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}})"
        "\n\ndata: [DONE]\n\n");
    exchange.endChunks();
}

ChatRequest chatRequest()
{
    ChatRequest request;
    request.model = "m";
    request.messages = {{"system", "be brief", "", "", ""}, {"user", "it's \"me\"\n", "", "", ""}};
    request.sampling.temperature = 0.5;
    request.sampling.topK = 40;
    request.sampling.stop = {"END"};
    return request;
}

QJsonObject jsonOf(const std::string &text)
{
    return QJsonDocument::fromJson(QByteArray::fromStdString(text)).object();
}

} // namespace

class TestOpenAiClient : public QObject
{
    Q_OBJECT

private slots:
    void streamsAChat();
    void stopTellsTheServerAndIsNoAnswer();
    void aSilentServerCanBeStopped();
    void aCutStreamKeepsWhatCame();
    void triesAgainOnlyWhereThatIsSafe_data();
    void triesAgainOnlyWhereThatIsSafe();
    void listsModels_data();
    void listsModels();
    void readsEmbeddings();
    void acceptsBasesWithAndWithoutV1_data();
    void acceptsBasesWithAndWithoutV1();
    void refusesJsonTextThatIsNone();
    void exportsCurlWithoutTheKey();
    void exportsPythonWithoutTheKey();
};

void TestOpenAiClient::streamsAChat()
{
    LoopbackServer server([](Exchange &exchange) { respondWithStream(exchange); });
    HttpClient http;
    OpenAiClient client(http, {server.url(), secret});
    std::string raw;
    std::string text;
    StreamHandlers handlers;
    handlers.onRaw = [&](std::string_view bytes) { raw += bytes; };
    handlers.onChunk = [&](const AnswerChunk &chunk) {
        for (const ChoiceDelta &choice : chunk.choices)
            text += choice.content;
    };
    ChatRequest request = chatRequest();
    request.extraJson = R"({"top_k": 7, "chat_template_kwargs": {"a": true}})";
    const AnswerOutcome outcome = client.chat(request, handlers);
    QVERIFY2(outcome.status.has_value(), outcome.status ? "" : outcome.status.error().message.c_str());
    QCOMPARE(outcome.httpStatus, 200);
    QCOMPARE(text, std::string("Hi"));
    QCOMPARE(outcome.answer.choices.at(0).content, std::string("Hi"));
    QCOMPARE(outcome.answer.usage->completionTokens, 2);
    QVERIFY(outcome.answer.timings.firstToken <= outcome.answer.timings.total);
    QVERIFY(raw.ends_with("data: [DONE]\n\n"));

    const auto seen = server.requests().at(0);
    QCOMPARE(seen.target, std::string("/v1/chat/completions"));
    QCOMPARE(seen.headers.at("authorization"), "Bearer " + secret);
    QCOMPARE(seen.headers.at("content-type"), std::string("application/json"));
    const QJsonObject body = jsonOf(seen.body);
    QCOMPARE(body["top_k"].toInt(), 7); // extra wins
    QCOMPARE(body["temperature"].toDouble(), 0.5);
    QVERIFY(body["chat_template_kwargs"].toObject()["a"].toBool());
    QVERIFY(body["stream_options"].toObject()["include_usage"].toBool());
    QCOMPARE(body["messages"].toArray().size(), 2);
    QVERIFY(!body.contains("top_p"));
}

void TestOpenAiClient::stopTellsTheServerAndIsNoAnswer()
{
    std::atomic<bool> sawClientLeave = false;
    LoopbackServer server([&](Exchange &exchange) {
        exchange.beginChunked(200, "text/event-stream");
        exchange.writeChunk(chunkEvent(R"({"content":"Hi"})"));
        sawClientLeave = exchange.waitForClientToLeave();
    });
    HttpClient http;
    OpenAiClient client(http, {server.url(), ""});
    CancelSource source;
    StreamHandlers handlers;
    handlers.onChunk = [&](const AnswerChunk &) { source.request_stop(); };
    CallOptions options;
    options.cancel = source.get_token();
    const AnswerOutcome outcome = client.chat(chatRequest(), handlers, options);
    QVERIFY(!outcome.status && outcome.status.error().code == ErrorCode::Cancelled);
    QCOMPARE(outcome.answer.choices.at(0).content, std::string("Hi"));
    QTRY_VERIFY(sawClientLeave.load());
    QVERIFY(!server.requests().at(0).headers.contains("authorization"));
}

void TestOpenAiClient::aSilentServerCanBeStopped()
{
    std::atomic<bool> isReceived = false;
    LoopbackServer server([&](Exchange &exchange) {
        exchange.beginChunked(200, "text/event-stream");
        isReceived = true;
        exchange.waitForClientToLeave();
    });
    HttpClient http;
    OpenAiClient client(http, {server.url(), ""});
    CancelSource source;
    CallOptions options;
    options.cancel = source.get_token();
    std::thread stopper([&] {
        while (!isReceived)
            std::this_thread::yield();
        source.request_stop();
    });
    const AnswerOutcome outcome = client.chat(chatRequest(), {}, options);
    stopper.join();
    QVERIFY(!outcome.status && outcome.status.error().code == ErrorCode::Cancelled);
}

void TestOpenAiClient::aCutStreamKeepsWhatCame()
{
    LoopbackServer server([&](Exchange &exchange) {
        exchange.beginChunked(200, "text/event-stream");
        exchange.writeChunk(chunkEvent(R"({"content":"Hi"})"));
        if (exchange.request().body.find("orderly") != std::string::npos)
            exchange.endChunks();
    });
    HttpClient http;
    OpenAiClient client(http, {server.url(), ""});
    for (const char *model : {"orderly", "torn"}) {
        CompletionRequest request;
        request.model = model;
        const AnswerOutcome outcome = client.complete(request);
        QVERIFY2(!outcome.status && outcome.status.error().code == ErrorCode::DataLoss, model);
        QCOMPARE(outcome.answer.choices.at(0).content, std::string("Hi"));
    }
}

void TestOpenAiClient::triesAgainOnlyWhereThatIsSafe_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QString>("retryAfter");
    QTest::addColumn<int>("retries");
    QTest::addColumn<int>("expectedRequests");
    QTest::newRow("503 with Retry-After") << 503 << "0" << 1 << 2;
    QTest::newRow("429 with Retry-After") << 429 << "0" << 1 << 2;
    QTest::newRow("not asked to") << 503 << "0" << 0 << 1;
    QTest::newRow("503 without Retry-After") << 503 << "" << 1 << 1;
    QTest::newRow("too long a wait") << 503 << "3600" << 1 << 1;
    QTest::newRow("500") << 500 << "0" << 1 << 1;
}

void TestOpenAiClient::triesAgainOnlyWhereThatIsSafe()
{
    QFETCH(int, status);
    QFETCH(QString, retryAfter);
    QFETCH(int, retries);
    QFETCH(int, expectedRequests);
    std::atomic<int> count = 0;
    LoopbackServer server([&](Exchange &exchange) {
        if (++count > 1)
            return respondWithStream(exchange);
        std::vector<std::pair<std::string, std::string>> headers;
        if (!retryAfter.isEmpty())
            headers.emplace_back("Retry-After", retryAfter.toStdString());
        exchange.respond(status, "application/json", R"({"error":{"message":"full"}})", headers);
    });
    HttpClient http;
    OpenAiClient client(http, {server.url(), ""});
    CallOptions options;
    options.retries = retries;
    const AnswerOutcome outcome = client.chat(chatRequest(), {}, options);
    QCOMPARE(count.load(), expectedRequests);
    QCOMPARE(outcome.status.has_value(), expectedRequests == 2);
    if (!outcome.status) {
        QCOMPARE(outcome.httpStatus, status);
        QVERIFY(outcome.status.error().message.find("full") != std::string::npos);
    }
}

void TestOpenAiClient::listsModels_data()
{
    QTest::addColumn<int>("status");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("expected");
    QTest::newRow("vLLM")
        << 200
        << QByteArray(
               R"({"object":"list","data":[{"id":"a","root":"r","parent":null,"max_model_len":4096}]})")
        << "a 4096";
    QTest::newRow("Ray") << 200
                         << QByteArray(
                                R"({"data":[{"id":"a","metadata":{"max_request_context_length":512}}]})")
                         << "a 512";
    QTest::newRow("no length") << 200
                               << QByteArray(R"({"data":[{"id":"a","max_model_len":null},{"id":"b"}]})")
                               << "a -,b -";
    QTest::newRow("none") << 200 << QByteArray(R"({"data":[]})") << "";
    QTest::newRow("key missing") << 401 << QByteArray(R"({"error":"Unauthorized"})") << "!Unauthorized";
    QTest::newRow("failure under 200")
        << 200 << QByteArray(R"({"object":"error","message":"no","code":400})") << "!no";
    QTest::newRow("something else") << 200 << QByteArray("<html>") << "!check the address";
    QTest::newRow("other JSON") << 200 << QByteArray(R"({"data":7})") << "!check the address";
}

void TestOpenAiClient::listsModels()
{
    QFETCH(int, status);
    QFETCH(QByteArray, body);
    QFETCH(QString, expected);
    LoopbackServer server(
        [&](Exchange &exchange) { exchange.respond(status, "application/json", body.toStdString()); });
    HttpClient http;
    OpenAiClient client(http, {server.url("/v1/"), ""});
    const auto models = client.models();
    if (!models) {
        QVERIFY(expected.startsWith('!'));
        QVERIFY2(QString::fromStdString(models.error().message).contains(expected.mid(1)),
                 models.error().message.c_str());
        return;
    }
    QStringList list;
    for (const ModelCard &card : *models)
        list << QString::fromStdString(card.id + " "
                                       + (card.maxModelLength ? std::to_string(*card.maxModelLength) : "-"));
    QCOMPARE(list.join(','), expected);
    QCOMPARE(server.requests().at(0).target, std::string("/v1/models"));
}

void TestOpenAiClient::readsEmbeddings()
{
    std::string body
        = R"({"model":"e","data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2.5]}],"usage":{"prompt_tokens":7,"total_tokens":7}})";
    LoopbackServer server([&](Exchange &exchange) { exchange.respond(200, "application/json", body); });
    HttpClient http;
    OpenAiClient client(http, {server.url(), ""});
    EmbeddingsRequest request;
    request.model = "e";
    request.inputs = {"one", "two"};
    const auto answer = client.embeddings(request);
    QVERIFY(answer.has_value());
    QVERIFY((answer->vectors == std::vector<std::vector<float>>{{1, 2.5F}, {3, 4}}));
    QCOMPARE(answer->usage->promptTokens, 7);
    body = R"({"data":[{"index":9,"embedding":[1]}]})";
    const auto broken = client.embeddings(request);
    QVERIFY(!broken && broken.error().code == ErrorCode::DataLoss);
}

void TestOpenAiClient::acceptsBasesWithAndWithoutV1_data()
{
    QTest::addColumn<QString>("base");
    QTest::addColumn<QString>("expected");
    QTest::newRow("host") << "http://h:1"
                          << "http://h:1/v1/models";
    QTest::newRow("slash") << "http://h:1/"
                           << "http://h:1/v1/models";
    QTest::newRow("v1") << "http://h:1/v1"
                        << "http://h:1/v1/models";
    QTest::newRow("v1 and slash") << "http://h:1/v1/"
                                  << "http://h:1/v1/models";
    QTest::newRow("prefix") << "http://h/llm"
                            << "http://h/llm/v1/models";
}

void TestOpenAiClient::acceptsBasesWithAndWithoutV1()
{
    QFETCH(QString, base);
    QFETCH(QString, expected);
    QCOMPARE(QString::fromStdString(openAiUrl(base.toStdString(), "/models")), expected);
}

void TestOpenAiClient::refusesJsonTextThatIsNone()
{
    HttpClient http;
    OpenAiClient client(http, {"http://127.0.0.1:1", ""});
    ChatRequest request = chatRequest();
    request.toolsJson = "{}";
    const AnswerOutcome outcome = client.chat(request);
    QVERIFY(!outcome.status && outcome.status.error().code == ErrorCode::InvalidArgument);
    QVERIFY(outcome.status.error().message.find("'tools'") != std::string::npos);
    request = chatRequest();
    request.extraJson = "[1]";
    QVERIFY(!client.chat(request).status);
}

void TestOpenAiClient::exportsCurlWithoutTheKey()
{
    const std::string text = asCurl("http://h:1", true, chatRequest()).value_or("");
    QVERIFY2(text.find("'http://h:1/v1/chat/completions'") != std::string::npos, text.c_str());
    QVERIFY(text.find("\"Authorization: Bearer $OPENAI_API_KEY\"") != std::string::npos);
    QVERIFY(text.find("it'\\''s \\\"me\\\"\\n") != std::string::npos);
    QVERIFY(text.starts_with("curl -N "));
    QVERIFY(asCurl("http://h:1", false, chatRequest())->find("Authorization") == std::string::npos);
}

void TestOpenAiClient::exportsPythonWithoutTheKey()
{
    ChatRequest request = chatRequest();
    request.extraJson = R"({"top_k": null, "ignore_eos": false})";
    const std::string text = asPython("http://h:1", true, request).value_or("");
    QVERIFY2(text.find("OpenAI(base_url=\"http://h:1/v1\", api_key=os.environ[\"OPENAI_API_KEY\"])")
                 != std::string::npos,
             text.c_str());
    QVERIFY(text.find("stream=True") != std::string::npos);
    QVERIFY(text.find("extra_body={\n        \"top_k\": None,\n        \"ignore_eos\": False,\n    }")
            != std::string::npos);
    const std::string completion = asPython("http://h:1", false, CompletionRequest()).value_or("");
    QVERIFY(completion.find("client.completions.create(") != std::string::npos);
    QVERIFY(completion.find("environ") == std::string::npos);
}

QTEST_GUILESS_MAIN(TestOpenAiClient)
#include "tst_openai_client.moc"
