// The stream cases of public failure reports, each cut at every byte.

#include "cluster/openai/stream_reader.h"

#include <QFile>
#include <QTest>

using namespace cluster;
using std::chrono::steady_clock;

namespace {

constexpr int success = -1;

struct Read
{
    Answer answer;
    Status status;
};

/// Reads `pieces` as the client does; each piece comes one second after the one before.
Read readStream(const std::vector<std::string_view> &pieces,
                std::string_view contentType = "text/event-stream", int httpStatus = 200)
{
    const StreamHandlers handlers;
    steady_clock::time_point now{};
    StreamReader reader("host:1", now, handlers);
    reader.begin(httpStatus, contentType);
    Read read;
    for (const std::string_view piece : pieces) {
        now += std::chrono::seconds(1);
        const Result<Reading> wanted = reader.take(piece, now);
        if (!wanted) {
            read.status = tl::unexpected(wanted.error());
            read.answer = reader.close(now);
            return read;
        }
        if (*wanted == Reading::Stop)
            break;
    }
    read.status = reader.finish(now);
    read.answer = reader.close(now);
    return read;
}

/// Everything that must not depend on where the bytes were cut, as one text.
QString summary(const Read &read)
{
    QString text;
    for (const AnswerChoice &choice : read.answer.choices) {
        text += QString::fromStdString("[" + choice.reasoning + "]" + choice.content + choice.refusal);
        for (const ToolCall &call : choice.toolCalls)
            text += QString::fromStdString("{" + call.id + " " + call.name + " " + call.arguments + "}");
        text += QString::fromStdString("<" + choice.finishReason + ">");
    }
    if (read.answer.usage)
        text += QString("(%1+%2)")
                    .arg(read.answer.usage->promptTokens)
                    .arg(read.answer.usage->completionTokens);
    return text;
}

int codeOf(const Status &status)
{
    return status ? success : static_cast<int>(status.error().code);
}

QByteArray chunk(const QByteArray &delta, const QByteArray &finish = "null")
{
    return R"(data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":)"
        + delta + R"(,"logprobs":null,"finish_reason":)" + finish + "}]}\n\n";
}

QByteArray textChunk(const QByteArray &text, const QByteArray &finish = "null")
{
    return chunk(R"({"content":")" + text + R"("})", finish);
}

const QByteArray roleChunk = chunk(R"({"role":"assistant","content":""})");
const QByteArray done = "data: [DONE]\n\n";
const QByteArray usageChunk
    = R"(data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9,"total_tokens":12,"completion_tokens":3}})"
      "\n\n";

} // namespace

class TestAnswerStream : public QObject
{
    Q_OBJECT

private slots:
    void readsTheSameAtEveryByteSplit_data();
    void readsTheSameAtEveryByteSplit();
    void everyTruncationIsAFailure();
    void readsEveryRecordedStream_data();
    void readsEveryRecordedStream();
    void readsAnEventOfEightMegabytes();
    void readsWholeAnswers_data();
    void readsWholeAnswers();
    void tellsReasoningFromAnswerInTheTimes();
    void leavesOutWhatItCantMeasure();
};

void TestAnswerStream::readsTheSameAtEveryByteSplit_data()
{
    QTest::addColumn<QByteArray>("stream");
    QTest::addColumn<QString>("expected");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("message");

    const int internal = static_cast<int>(ErrorCode::Internal);
    const int invalid = static_cast<int>(ErrorCode::InvalidArgument);
    const int unknown = static_cast<int>(ErrorCode::Unknown);
    const int dataLoss = static_cast<int>(ErrorCode::DataLoss);
    const QByteArray two = roleChunk + textChunk("Hel") + textChunk("lo");
    const QByteArray whole = two + textChunk("", R"("stop")");

    QTest::newRow("F109 error object, no [DONE]")
        << two + "data: {\"error\": {\"object\": \"error\", \"message\": \"boom\", \"code\": 500}}\n\n"
        << "[]Hello<>" << internal << "boom";
    QTest::newRow("F109 error object, then [DONE]") << two
            + "data: {\"error\": {\"message\": \"too long\", \"type\": \"BadRequestError\", \"code\": "
              "400}}\n\n"
            + done << "[]Hello<>" << invalid << "too long";
    QTest::newRow("F109 event: error") << two + "event: error\ndata: {\"message\": \"boom\"}\n\n"
                                       << "[]Hello<>" << unknown << "boom";
    QTest::newRow("F109 event: error, plain text") << two + "event: error\ndata: engine died\n\n"
                                                   << "[]Hello<>" << unknown << "engine died";
    QTest::newRow("F109 error as text")
        << two + "data: {\"error\":\"gone\"}\n\n" + done << "[]Hello<>" << unknown << "gone";
    QTest::newRow("F109 flat error") << two
            + "data: {\"object\":\"error\",\"message\":\"flat\",\"code\":400}\n\n" + done
                                     << "[]Hello<>" << invalid << "flat";
    QTest::newRow("F109 detail") << two + "data: {\"detail\":\"Not Found\"}\n\n"
                                 << "[]Hello<>" << unknown << "Not Found";
    QTest::newRow("F109 message only") << two + "data: {\"message\":\"no upstream\"}\n\n"
                                       << "[]Hello<>" << unknown << "no upstream";
    QTest::newRow("error before the first token")
        << "data: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n" + done << "" << internal << "boom";
    QTest::newRow("finish reason abort") << two + textChunk("", R"("abort")") + done << "[]Hello<abort>"
                                         << static_cast<int>(ErrorCode::Aborted) << "abort";

    QByteArray unicode = whole;
    unicode.replace("lo", "\xC3\xB6 \xE2\x80\xA8 \xF0\x9F\x9A\xA2 \\ud83d\\udea2");
    const QString unicodeText
        = QString::fromUtf8("[]Hel\xC3\xB6 \xE2\x80\xA8 \xF0\x9F\x9A\xA2 \xF0\x9F\x9A\xA2<stop>");
    QTest::newRow("F110 UTF-8 and U+2028") << unicode + done << unicodeText << success << "";
    QTest::newRow("F110 CRLF") << QByteArray(unicode + done).replace("\n", "\r\n") << unicodeText << success
                               << "";
    QTest::newRow("F110 CR") << QByteArray(unicode + done).replace("\n", "\r") << unicodeText << success
                             << "";
    QTest::newRow("F110 no space after data:")
        << QByteArray(unicode + done).replace("data: ", "data:") << unicodeText << success << "";
    QTest::newRow("comments and a byte order mark")
        << "\xEF\xBB\xBF: hello\n\n" + QByteArray(whole).replace("data: {", ": ping\n\ndata: {") + done
        << "[]Hello<stop>" << success << "";

    QTest::newRow("F112 usage chunk") << whole + usageChunk + done << "[]Hello<stop>(9+3)" << success << "";
    QTest::newRow("usage in each chunk")
        << (QByteArray(whole).replace(
                "}]}", R"(}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}})")
            + usageChunk + done)
        << "[]Hello<stop>(9+3)" << success << "";
    QTest::newRow("usage null") << QByteArray(whole).replace("}]}", R"(}],"usage":null})") + done
                                << "[]Hello<stop>" << success << "";

    QTest::newRow("F115 both fields in the border chunk") << roleChunk + chunk(R"({"reasoning":"think"})")
            + chunk(R"({"reasoning":"ing.","content":"An"})") + textChunk("swer", R"("stop")")
            + done << "[thinking.]Answer<stop>" << success << "";
    QTest::newRow("F115 reasoning_content") << roleChunk + chunk(R"({"reasoning_content":"think"})")
            + chunk(R"({"reasoning_content":"ing.","content":"An"})") + textChunk("swer", R"("stop")") + done
                                            << "[thinking.]Answer<stop>" << success << "";
    QTest::newRow("both reasoning keys with one text") << roleChunk
            + chunk(R"({"reasoning":"hm","reasoning_content":"hm"})") + textChunk("A", R"("stop")")
            + done << "[hm]A<stop>" << success << "";

    QTest::newRow("tool call with id and name first")
        << roleChunk
            + chunk(
                R"({"content":null,"tool_calls":[{"id":"t1","type":"function","index":0,"function":{"name":"f"}}]})")
            + chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]})")
            + chunk(R"({"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]})", R"("tool_calls")") + done
        << R"([]{t1 f {"a":1}}<tool_calls>)" << success << "";
    QTest::newRow("tool calls without ids, names repeated or null, two of them") << roleChunk
            + chunk(R"({"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]})")
            + chunk(R"({"tool_calls":[{"index":0,"function":{"name":null,"arguments":"}"}}]})")
            + chunk(R"({"tool_calls":[{"index":1,"function":{"name":"g","arguments":"["}}]})")
            + chunk(R"({"tool_calls":[{"index":1,"function":{"name":"g","arguments":"]"}}]})", R"("stop")")
            + done << "[]{call-0-0 f {}}{call-0-1 g []}<stop>" << success << "";

    QTest::newRow("no [DONE] but a finish reason") << whole << "[]Hello<stop>" << success << "";
    QTest::newRow("[DONE] without its blank line") << whole + "data: [DONE]"
                                                   << "[]Hello<stop>" << success << "";
    QTest::newRow("what follows [DONE] does not matter")
        << whole + done + textChunk("more") << "[]Hello<stop>" << success << "";
    QTest::newRow("neither [DONE] nor a finish reason") << two << "[]Hello<>" << dataLoss << "cut";
    QTest::newRow("one of two choices unfinished") << roleChunk
            + QByteArray(textChunk("B")).replace("\"index\":0", "\"index\":1") + textChunk("A", R"("stop")")
                                                   << "[]A<stop>[]B<>" << dataLoss << "cut";
    QTest::newRow("nothing at all") << QByteArray() << "" << dataLoss << "no event";
    QTest::newRow("a page of a proxy")
        << QByteArray("<html><body>Log in</body></html>") << "" << dataLoss << "no event";
    QTest::newRow("garbage in the middle")
        << two + "data: {\"choices\":[{]}\n\n" + done << "[]Hello<>" << dataLoss << "not a JSON object";
    QTest::newRow("a list") << two + "data: [1,2]\n\n" + done << "[]Hello<>" << dataLoss
                            << "not a JSON object";
    QTest::newRow("odd but harmless types") << two
            + R"(data: {"choices":[{"index":0,"delta":null,"finish_reason":"length"},7],"usage":7,"model":3})"
              "\n\n"
            + done << "[]Hello<length>" << success
                                            << "";
}

void TestAnswerStream::readsTheSameAtEveryByteSplit()
{
    QFETCH(QByteArray, stream);
    QFETCH(QString, expected);
    QFETCH(int, code);
    QFETCH(QString, message);
    const std::string_view all(stream.constData(), static_cast<std::size_t>(stream.size()));
    for (std::size_t split = 0; split <= all.size(); ++split) {
        const Read read = readStream({all.substr(0, split), all.substr(split)});
        QCOMPARE(summary(read), expected);
        QCOMPARE(codeOf(read.status), code);
        if (!read.status)
            QVERIFY2(QString::fromStdString(read.status.error().message).contains(message),
                     read.status.error().message.c_str());
    }
    std::vector<std::string_view> bytes;
    for (std::size_t i = 0; i < all.size(); ++i)
        bytes.push_back(all.substr(i, 1));
    QCOMPARE(summary(readStream(bytes)), expected);
}

void TestAnswerStream::everyTruncationIsAFailure()
{
    const QByteArray unfinished = roleChunk + textChunk("Hel") + textChunk("l\xC3\xB6");
    const QByteArray stream = unfinished + textChunk("", R"("stop")") + done;
    const std::string_view all(stream.constData(), static_cast<std::size_t>(stream.size()));
    // Whole from the byte on with which the JSON of the finish reason is closed: its line end may be missing.
    const qsizetype wholeFrom = stream.indexOf("\n\ndata: [DONE]");
    for (std::size_t size = 0; size <= all.size(); ++size) {
        const Read read = readStream({all.substr(0, size)});
        const bool isWhole = static_cast<qsizetype>(size) >= wholeFrom;
        QVERIFY2(read.status.has_value() == isWhole, qPrintable(QString::number(size)));
        if (!isWhole)
            QCOMPARE(codeOf(read.status), static_cast<int>(ErrorCode::DataLoss));
    }
}

void TestAnswerStream::readsEveryRecordedStream_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("expected");
    const QString oldVllm = "/observed-vllm/v0.8.5/";
    const QString newVllm = "/observed-vllm/v0.32.0/";
    for (const QString &version : {oldVllm, newVllm}) {
        const auto row = [&](const char *name, const char *expected) {
            QTest::newRow(qPrintable(version + name)) << version + name + ".http" << expected;
        };
        row("chat-stream", "[]The capital of France is Paris.<stop>");
        row("chat-stream-usage", "[]The capital of<length>(37+3)");
        row("chat-stream-continuous-usage", "[]The capital of<length>(37+3)");
    }
}

void TestAnswerStream::readsEveryRecordedStream()
{
    QFETCH(QString, file);
    QFETCH(QString, expected);
    QFile recording(SLIPWAY_TEST_DATA + file);
    QVERIFY2(recording.open(QIODevice::ReadOnly), qPrintable(recording.fileName()));
    const QByteArray text = recording.readAll();
    const qsizetype answer = text.indexOf("\nHTTP/1.1 200");
    const qsizetype body = text.indexOf("\n\n", answer) + 2;
    QVERIFY(answer > 0 && body > answer);
    const QByteArray stream = text.mid(body);
    const std::string_view all(stream.constData(), static_cast<std::size_t>(stream.size()));
    for (std::size_t split = 0; split <= all.size(); ++split) {
        const Read read = readStream({all.substr(0, split), all.substr(split)});
        QVERIFY(read.status.has_value());
        QCOMPARE(summary(read).trimmed(), expected);
    }
}

void TestAnswerStream::readsAnEventOfEightMegabytes()
{
    const QByteArray text(8 << 20, 'x');
    const QByteArray stream = roleChunk + textChunk(text) + textChunk("", R"("stop")") + done;
    const std::string_view all(stream.constData(), static_cast<std::size_t>(stream.size()));
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < all.size(); at += 16384)
        pieces.push_back(all.substr(at, 16384));
    const Read read = readStream(pieces);
    QVERIFY(read.status.has_value());
    QCOMPARE(read.answer.choices.at(0).content.size(), static_cast<std::size_t>(text.size()));
}

void TestAnswerStream::readsWholeAnswers_data()
{
    QTest::addColumn<int>("httpStatus");
    QTest::addColumn<QByteArray>("contentType");
    QTest::addColumn<QByteArray>("body");
    QTest::addColumn<QString>("expected");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("message");
    const QByteArray json = "application/json";

    QTest::newRow("chat")
        << 200 << json
        << QByteArray(
               R"({"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning":"hm","tool_calls":[{"id":"t","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}})")
        << "[hm]Hi{t f {}}<stop>(9+2)" << success << "";
    QTest::newRow("completion") << 200 << json
                                << QByteArray(
                                       R"({"choices":[{"index":0,"text":"Hi","finish_reason":"length"}]})")
                                << "[]Hi<length>" << success << "";
    QTest::newRow("failure under 200")
        << 200 << json << QByteArray(R"({"object":"error","message":"does not support","code":400})") << ""
        << static_cast<int>(ErrorCode::InvalidArgument) << "does not support";
    QTest::newRow("not JSON") << 200 << json << QByteArray("{\"choices\":") << ""
                              << static_cast<int>(ErrorCode::DataLoss) << "not a JSON object";
    QTest::newRow("flat")
        << 404 << json
        << QByteArray(
               R"({"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404})")
        << "" << static_cast<int>(ErrorCode::NotFound) << "The model `x` does not exist";
    QTest::newRow("nested")
        << 400 << json
        << QByteArray(
               R"({"error":{"message":"bad top_p","type":"BadRequestError","param":"top_p","code":400}})")
        << "" << static_cast<int>(ErrorCode::InvalidArgument) << "bad top_p";
    QTest::newRow("text") << 401 << json << QByteArray(R"({"error":"Unauthorized"})") << ""
                          << static_cast<int>(ErrorCode::Unauthenticated)
                          << "Unauthorized: give the right API key";
    QTest::newRow("detail as text") << 404 << json << QByteArray(R"({"detail":"Not Found"})") << ""
                                    << static_cast<int>(ErrorCode::NotFound) << "Not Found";
    QTest::newRow("detail as a list")
        << 422 << json
        << QByteArray(R"({"detail":[{"loc":["body","n"],"msg":"too small"},{"loc":["body",3],"msg":"odd"}]})")
        << "" << static_cast<int>(ErrorCode::InvalidArgument) << "body.n: too small; body.3: odd";
    QTest::newRow("plain text") << 500 << QByteArray("text/plain") << QByteArray("Internal Server Error")
                                << "" << static_cast<int>(ErrorCode::Internal) << "Internal Server Error";
    QTest::newRow("HTML") << 502 << QByteArray("text/html")
                          << QByteArray("<html>\r\n<head><title>502 Bad Gateway</title></head></html>") << ""
                          << static_cast<int>(ErrorCode::Unavailable) << "502 Bad Gateway";
    QTest::newRow("empty") << 503 << QByteArray() << QByteArray() << ""
                           << static_cast<int>(ErrorCode::Unavailable)
                           << "gave no reason: the server is busy";
    QTest::newRow("empty message")
        << 400 << json << QByteArray(R"({"object":"error","message":"","type":"BadRequestError","code":400})")
        << "" << static_cast<int>(ErrorCode::InvalidArgument) << "BadRequestError";
    QTest::newRow("event stream with an error status")
        << 503 << QByteArray("text/event-stream") << QByteArray(R"({"error":{"message":"busy"}})") << ""
        << static_cast<int>(ErrorCode::Unavailable) << "busy";
}

void TestAnswerStream::readsWholeAnswers()
{
    QFETCH(int, httpStatus);
    QFETCH(QByteArray, contentType);
    QFETCH(QByteArray, body);
    QFETCH(QString, expected);
    QFETCH(int, code);
    QFETCH(QString, message);
    const std::string_view all(body.constData(), static_cast<std::size_t>(body.size()));
    const Read read = readStream({all.substr(0, all.size() / 2), all.substr(all.size() / 2)},
                                 contentType.toStdString(), httpStatus);
    QCOMPARE(summary(read), expected);
    QCOMPARE(codeOf(read.status), code);
    if (!read.status)
        QVERIFY2(QString::fromStdString(read.status.error().message).contains(message),
                 read.status.error().message.c_str());
}

void TestAnswerStream::tellsReasoningFromAnswerInTheTimes()
{
    // F116: one piece a second; the role chunk is no token.
    const QByteArray think = chunk(R"({"reasoning":"hm"})");
    const QByteArray answer = textChunk("A");
    const QByteArray last = textChunk("B", R"("stop")");
    const auto view = [](const QByteArray &bytes) {
        return std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size()));
    };
    const Read read = readStream(
        {view(roleChunk), view(think), view(think), view(answer), view(last), view(usageChunk), view(done)});
    QVERIFY(read.status.has_value());
    const AnswerTimings &timings = read.answer.timings;
    QVERIFY(timings.firstToken == std::chrono::seconds(2));
    QVERIFY(timings.firstAnswerToken == std::chrono::seconds(4));
    QVERIFY(timings.lastToken == std::chrono::seconds(5));
    QVERIFY(timings.total == std::chrono::seconds(7));
    QVERIFY(read.answer.timePerOutputToken() == std::chrono::milliseconds(1500)); // (5 - 2) / (3 - 1)
    QCOMPARE(read.answer.tokensPerSecond().value_or(0), 3.0 / 5.0);
}

void TestAnswerStream::leavesOutWhatItCantMeasure()
{
    const QByteArray stream = roleChunk + textChunk("A") + textChunk("B", R"("stop")") + done;
    const Read read
        = readStream({std::string_view(stream.constData(), static_cast<std::size_t>(stream.size()))});
    QVERIFY(read.status.has_value());
    QVERIFY(!read.answer.usage.has_value());
    QVERIFY(!read.answer.timePerOutputToken().has_value());
    QVERIFY(!read.answer.tokensPerSecond().has_value());
    QVERIFY(read.answer.timings.firstToken.has_value());
}

QTEST_APPLESS_MAIN(TestAnswerStream)
#include "tst_answer_stream.moc"
