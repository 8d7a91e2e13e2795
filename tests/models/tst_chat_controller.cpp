#include "cluster/net/http_client.h"
#include "models/chat/chat_controller.h"
#include "models/chat/chat_library.h"
#include "models/chat/conversation_list_model.h"
#include "models/chat/request_log.h"
#include "models/chat/transcript.h"
#include "tests/support/loopback_server.h"
#include <QEventLoop>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <atomic>
#include <mutex>

using namespace models;

namespace {

std::string chunk(const std::string &delta, const std::string &finish = "null")
{
    return R"(data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{)"
        + delta + R"(},"finish_reason":)" + finish + "}]}\n\n";
}

const std::string usageEvent
    = R"(data: {"id":"c","model":"m","choices":[],"usage":{"prompt_tokens":37,"completion_tokens":3,"total_tokens":40}})"
      "\n\n";
const std::string doneEvent = "data: [DONE]\n\n";

const std::string wholeStream = chunk(R"("role":"assistant","content":"")")
    + chunk(R"("reasoning":"Hm \u00e9. ")")
    + chunk("\"reasoning\":\"Let me\",\"content\":\"Gr\u00fc\u00df \"")
    + chunk("\"content\":\"\u4e2d\U0001F600\u2028end\"") + chunk(R"("content":"")", "\"stop\"") + usageEvent
    + doneEvent;

std::string replaced(std::string text, const std::string &from, const std::string &to)
{
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

/// What the server does with the next generation; models are always listed.
struct Server
{
    std::mutex mutex;
    std::function<void(tests::Exchange &)> generate;
    std::atomic<bool> hasTemplate = true;
    tests::LoopbackServer http;

    Server() : http([this](tests::Exchange &exchange) { answer(exchange); }) {}

    void answer(tests::Exchange &exchange)
    {
        if (exchange.request().target == "/v1/models") {
            exchange.respond(200, "application/json",
                             R"({"object":"list","data":[{"id":"m","object":"model","max_model_len":512}]})");
            return;
        }
        if (exchange.request().target == "/metrics") {
            exchange.respond(200, "text/plain", "vllm:num_requests_running{engine=\"0\"} 0\n");
            return;
        }
        if (exchange.request().target == "/tokenize") {
            exchange.respond(hasTemplate ? 200 : 400, "application/json",
                             hasTemplate
                                 ? R"({"count":3,"max_model_len":512,"tokens":[1,2,3]})"
                                 : R"({"error":{"message":"This model has no chat template","code":400}})");
            return;
        }
        std::function<void(tests::Exchange &)> now;
        {
            const std::lock_guard lock(mutex);
            now = generate;
        }
        now(exchange);
    }

    void streams(std::vector<std::string> pieces)
    {
        const std::lock_guard lock(mutex);
        generate = [pieces = std::move(pieces)](tests::Exchange &exchange) {
            exchange.beginChunked(200, "text/event-stream; charset=utf-8");
            for (const std::string &piece : pieces)
                if (!piece.empty())
                    exchange.writeChunk(piece);
            exchange.endChunks();
        };
    }
};

} // namespace

class ChatControllerTest : public QObject
{
    Q_OBJECT

    QTemporaryDir m_dir;
    Server m_server;
    cluster::HttpClient m_http;
    std::unique_ptr<JobRunner> m_jobs;
    std::unique_ptr<ChatLibrary> m_library;
    std::unique_ptr<ChatController> m_chat;
    QVector<ChatProblem> m_problems;
    int m_files = 0;

    const ChatMessage &last() const { return m_chat->transcript()->messages().last(); }

    void ask(const QString &text = QStringLiteral("Question"))
    {
        // Woken by the end itself: thousands of answers are asked for here.
        QEventLoop loop;
        connect(m_chat.get(), &ChatController::answered, &loop, &QEventLoop::quit);
        QTimer::singleShot(20000, &loop, [&loop] { loop.exit(1); });
        m_chat->send(text);
        QVERIFY(loop.exec() == 0);
    }

private slots:
    void init()
    {
        m_problems.clear();
        m_jobs = std::make_unique<JobRunner>(4);
        m_library
            = std::make_unique<ChatLibrary>(m_dir.filePath(QStringLiteral("chats%1.db").arg(++m_files)));
        m_library->open();
        m_chat = std::make_unique<ChatController>(*m_jobs, m_http, *m_library);
        connect(m_chat.get(), &ChatController::problemOccurred, this,
                [this](const ChatProblem &p) { m_problems += p; });
        m_chat->setEndpoint({QStringLiteral("Test"), QString::fromStdString(m_server.http.url()), {}});
        QTRY_COMPARE(m_chat->model(), QStringLiteral("m"));
    }
    void cleanup()
    {
        m_chat.reset();
        m_library.reset();
        m_jobs.reset();
    }

    void everyByteSplitGivesTheSameAnswer_data()
    {
        QTest::addColumn<QByteArray>("stream");
        QTest::addRow("LF") << QByteArray::fromStdString(wholeStream);
        QTest::addRow("CRLF") << QByteArray::fromStdString(replaced(wholeStream, "\n", "\r\n"));
        QTest::addRow("CR") << QByteArray::fromStdString(replaced(wholeStream, "\n", "\r"));
        QTest::addRow("no space after data:")
            << QByteArray::fromStdString(replaced(wholeStream, "data: ", "data:"));
        QTest::addRow("other reasoning key")
            << QByteArray::fromStdString(replaced(wholeStream, "\"reasoning\"", "\"reasoning_content\""));
        QTest::addRow("comments between")
            << QByteArray::fromStdString(replaced(wholeStream, "data: ", ": ping\n\ndata: "));
    }
    void everyByteSplitGivesTheSameAnswer()
    {
        QFETCH(QByteArray, stream);
        for (qsizetype cut = 0; cut <= stream.size(); ++cut) {
            m_server.streams({stream.left(cut).toStdString(), stream.mid(cut).toStdString()});
            m_chat->newConversation();
            ask();
            const QByteArray where = "cut at " + QByteArray::number(cut);
            QVERIFY2(last().state == MessageState::Complete, where);
            QVERIFY2(last().content == QStringLiteral("Grüß 中\U0001F600\u2028end"), where);
            QVERIFY2(last().reasoning == QStringLiteral("Hm é. Let me"), where);
            QVERIFY2(last().measurements.completionTokens == 3 && last().measurements.promptTokens == 37,
                     where);
            QVERIFY2(last().measurements.finishReason == QLatin1String("stop"), where);
            QVERIFY2(m_problems.isEmpty(), where);
        }
        QCOMPARE(*m_chat->contextUsed(), 40);
        QCOMPARE(*m_chat->contextLimit(), 512);
    }

    void errorsInsideAStreamAreNeverASuccess_data()
    {
        QTest::addColumn<QByteArray>("end");
        QTest::addColumn<QString>("said");
        QTest::addRow("error object")
            << QByteArray("data: {\"error\":{\"message\":\"engine died\",\"code\":500}}\n\n")
            << QStringLiteral("engine died");
        QTest::addRow("event: error") << QByteArray("event: error\ndata: {\"message\":\"engine died\"}\n\n")
                                      << QStringLiteral("engine died");
        QTest::addRow("flat error") << QByteArray(
            "data: {\"object\":\"error\",\"message\":\"engine died\"}\n\ndata: [DONE]\n\n")
                                    << QStringLiteral("engine died");
        QTest::addRow("nothing more") << QByteArray() << QString();
        QTest::addRow("not JSON") << QByteArray("data: {\"choices\n\n") << QString();
    }
    void errorsInsideAStreamAreNeverASuccess()
    {
        QFETCH(QByteArray, end);
        QFETCH(QString, said);
        const QByteArray stream
            = QByteArray::fromStdString(chunk(R"("content":"Two ")") + chunk(R"("content":"pieces")")) + end;
        for (qsizetype cut = stream.size() - end.size(); cut <= stream.size(); ++cut) {
            m_problems.clear();
            m_server.streams({stream.left(cut).toStdString(), stream.mid(cut).toStdString()});
            m_chat->newConversation();
            ask();
            QCOMPARE(last().state, MessageState::Cut);
            QCOMPARE(last().content, QStringLiteral("Two pieces"));
            QVERIFY(last().measurements.finishReason.isEmpty());
            QCOMPARE(m_problems.size(), 1);
            QVERIFY2(m_problems[0].cause.contains(said), qPrintable(m_problems[0].cause));
            QVERIFY(m_problems[0].canRetry);
        }
    }

    void aRefusalIsABannerAndAFailedAnswer()
    {
        m_server.generate = [](tests::Exchange &exchange) {
            exchange.respond(400, "application/json",
                             R"({"error":{"message":"max_tokens must be at least 1","code":400}})");
        };
        ask();
        QCOMPARE(last().state, MessageState::Failed);
        QCOMPARE(m_problems.size(), 1);
        QVERIFY(m_problems[0].cause.contains(QStringLiteral("max_tokens must be at least 1")));
        QVERIFY(m_problems[0].details.contains(QStringLiteral("400")));
    }

    void aBaseModelIsOfferedForCompletion()
    {
        m_server.generate = [](tests::Exchange &exchange) {
            if (exchange.request().target == "/v1/chat/completions") {
                exchange.respond(
                    400, "application/json",
                    R"({"error":{"message":"no chat template is allowed, so you must provide a chat template"}})");
                return;
            }
            exchange.beginChunked(200, "text/event-stream");
            exchange.writeChunk("data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\" upon a "
                                "time\",\"finish_reason\":"
                                "\"length\"}]}\n\ndata: [DONE]\n\n");
            exchange.endChunks();
        };
        ask(QStringLiteral("Once"));
        QCOMPARE(m_problems.size(), 1);
        QCOMPARE(int(m_problems[0].kind), int(ChatProblem::NoTemplate));
        m_chat->setCompletionMode(true);
        m_chat->retry();
        QTRY_VERIFY(!m_chat->isBusy());
        QCOMPARE(last().content, QStringLiteral(" upon a time"));
        QVERIFY(
            QByteArray::fromStdString(m_server.http.requests().back().body).contains("\"prompt\":\"Once\""));
    }

    void aBaseModelIsKnownBeforeTheFirstQuestion()
    {
        m_server.hasTemplate = false;
        m_chat->setEndpoint({QStringLiteral("Test"), QString::fromStdString(m_server.http.url()), QString()});
        QTRY_VERIFY(m_chat->isCompletionMode());
        m_server.hasTemplate = true;
        m_chat->setCompletionMode(false); // the user may insist
        QVERIFY(!m_chat->isCompletionMode());
    }

    void thoughtsInTheTextAreFoldedAtEveryByteSplit()
    {
        const std::string stream = chunk(R"("content":"\n<thi")")
            + chunk(R"("content":"nk>Let me see: 1 < 2")") + chunk(R"("content":"</th")")
            + chunk(R"("content":"ink>\n\nIt is <think>")", "\"stop\"") + doneEvent;
        for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
            m_server.streams({stream.substr(0, cut), stream.substr(cut)});
            m_chat->newConversation();
            ask();
            QCOMPARE(last().reasoning, QStringLiteral("Let me see: 1 < 2"));
            QCOMPARE(last().content, QStringLiteral("It is <think>"));
        }
        QVERIFY(last().measurements.reasoning.has_value());
    }

    void textThatOnlyBeginsLikeATagStaysText_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addRow("another tag") << QStringLiteral("<thing> is a word");
        QTest::addRow("cut tag") << QStringLiteral("<thin");
        QTest::addRow("later") << QStringLiteral("The tag <think>x</think>");
        QTest::addRow("blanks first") << QStringLiteral("  indented");
    }
    void textThatOnlyBeginsLikeATagStaysText()
    {
        QFETCH(QString, text);
        std::vector<std::string> pieces;
        for (const QChar c : text)
            pieces.push_back(chunk("\"content\":\"" + QString(c).toStdString() + "\""));
        pieces.push_back(chunk(R"("content":"")", "\"stop\"") + doneEvent);
        m_server.streams(pieces);
        ask();
        QCOMPARE(last().content, text);
        QVERIFY(last().reasoning.isEmpty());
    }

    void aServerThatGoesSilentIsToldAndCanBeStopped()
    {
        m_chat = std::make_unique<ChatController>(
            *m_jobs, m_http, *m_library,
            ChatOptions{std::chrono::milliseconds(150), std::chrono::milliseconds(20)});
        m_chat->setEndpoint({QStringLiteral("Test"), QString::fromStdString(m_server.http.url()), {}});
        QTRY_COMPARE(m_chat->model(), QStringLiteral("m"));
        m_server.generate = [](tests::Exchange &exchange) {
            exchange.beginChunked(200, "text/event-stream");
            exchange.writeChunk(chunk(R"("content":"Half of")"));
            exchange.waitForClientToLeave();
        };
        m_chat->send(QStringLiteral("Go"));
        QTRY_COMPARE(m_chat->state(), ChatController::State::Stalled);
        QVERIFY(m_chat->silence() >= std::chrono::milliseconds(150));
        m_chat->stop();
        QTRY_VERIFY(!m_chat->isBusy());
        QCOMPARE(last().content, QStringLiteral("Half of"));
    }

    void aMegabyteInOneEventArrivesWhole()
    {
        const std::string text(1 << 20, 'x');
        m_server.streams(
            {chunk("\"content\":\"" + text + "\""), chunk(R"("content":"!")", "\"stop\"") + doneEvent});
        ask();
        QCOMPARE(last().state, MessageState::Complete);
        QCOMPARE(last().content.size(), qsizetype((1 << 20) + 1));
        QVERIFY(m_chat->requestLog()->eventText(0).size() < 100 * 1024);
    }

    void stopClosesTheConnectionAndKeepsTheText()
    {
        std::atomic<bool> hasLeft = false;
        m_server.generate = [&hasLeft](tests::Exchange &exchange) {
            exchange.beginChunked(200, "text/event-stream");
            exchange.writeChunk(chunk(R"("content":"Some text")"));
            hasLeft = exchange.waitForClientToLeave();
        };
        m_chat->send(QStringLiteral("Go"));
        QTRY_COMPARE(m_chat->state(), ChatController::State::Streaming);
        m_chat->stop();
        QTRY_VERIFY(!m_chat->isBusy());
        QTRY_VERIFY(hasLeft);
        QTRY_COMPARE(m_server.http.openConnections(), 0);
        QCOMPARE(last().content, QStringLiteral("Some text"));
        QCOMPARE(last().state, MessageState::Cut);
        QVERIFY(m_problems.isEmpty());
    }

    void reasoningCountsForTheFirstTokenAndTheAnswerIsMeasuredToo()
    {
        m_server.streams({wholeStream});
        ask();
        QVERIFY(last().measurements.ttft.has_value());
        QVERIFY(last().measurements.firstAnswer.has_value());
        QVERIFY(*last().measurements.ttft <= *last().measurements.firstAnswer);
        QVERIFY(last().measurements.reasoning.has_value());
    }

    void regenerateAndEditKeepTheOldVersions()
    {
        m_server.streams({chunk(R"("content":"one")", "\"stop\"") + doneEvent});
        ask();
        m_server.streams({chunk(R"("content":"two")", "\"stop\"") + doneEvent});
        m_chat->regenerate(1);
        QTRY_VERIFY(!m_chat->isBusy());
        QCOMPARE(last().content, QStringLiteral("two"));
        QCOMPARE(last().variantCount, 2);
        m_chat->showVariant(1, -1);
        QTRY_COMPARE(last().content, QStringLiteral("one"));
        m_chat->edit(0, QStringLiteral("Another question"));
        QTRY_VERIFY(!m_chat->isBusy());
        QCOMPARE(m_chat->transcript()->count(), 2);
        QCOMPARE(m_chat->transcript()->at(0).content, QStringLiteral("Another question"));
        m_chat->showVariant(0, -1);
        QTRY_COMPARE(m_chat->transcript()->at(0).content, QStringLiteral("Question"));
    }

    void anOldConversationIsOpenedWithItsSettings()
    {
        m_server.streams({chunk(R"("content":"one")", "\"stop\"") + doneEvent});
        m_chat->setSystemPrompt(QStringLiteral("Be kind"));
        ask();
        const qint64 id = m_chat->conversationId();
        m_chat->newConversation();
        m_chat->setSystemPrompt(QStringLiteral("Other"));
        m_chat->openConversation(id);
        QTRY_COMPARE(m_chat->transcript()->count(), 2);
        QCOMPARE(m_chat->systemPrompt(), QStringLiteral("Be kind"));
        QCOMPARE(m_library->conversations()->rowCount(), 1);
    }

    void theKeyIsInNoTextThatIsCopied()
    {
        m_chat->setEndpoint({QStringLiteral("Test"), QString::fromStdString(m_server.http.url()),
                             QStringLiteral("sk-secret")});
        m_server.streams({chunk(R"("content":"one")", "\"stop\"") + doneEvent});
        QTRY_VERIFY(!m_chat->models().isEmpty());
        ask();
        for (const QString &text :
             {m_chat->curlText(), m_chat->pythonText(), m_chat->requestLog()->allText()})
            QVERIFY(!text.contains(QStringLiteral("sk-secret")));
        QVERIFY(m_chat->curlText().contains(QStringLiteral("OPENAI_API_KEY")));
    }
};

QTEST_GUILESS_MAIN(ChatControllerTest)
#include "tst_chat_controller.moc"
