#include "cluster/net/http_client.h"
#include "models/chat/chat_controller.h"
#include "models/chat/chat_library.h"
#include "models/chat/transcript.h"
#include "tests/support/loopback_server.h"
#include "ui/pages/chat/chat_page.h"
#include "ui/pages/chat/composer.h"
#include "ui/pages/chat/transcript_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include <QAbstractButton>
#include <QAbstractSlider>
#include <QAccessible>
#include <QClipboard>
#include <QComboBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QTextLayout>
#include <QWheelEvent>

using namespace models;
using namespace ui;

namespace {

std::string chunk(const std::string &delta, const std::string &finish = "null")
{
    return R"(data: {"model":"m","choices":[{"index":0,"delta":{)" + delta + R"(},"finish_reason":)" + finish
        + "}]}\n\n";
}

ChatMessage message(qint64 id, ChatRole role, const QString &text)
{
    ChatMessage message;
    message.id = id;
    message.role = role;
    message.content = text;
    message.model = QStringLiteral("m");
    message.created = QDateTime::currentDateTime();
    return message;
}

} // namespace

class ChatPageTest : public QObject
{
    Q_OBJECT

    std::string m_reply;
    tests::LoopbackServer m_server{[this](tests::Exchange &exchange) {
        if (exchange.request().method == "GET") {
            exchange.respond(200, "application/json", R"({"data":[{"id":"m","max_model_len":512}]})");
            return;
        }
        if (exchange.request().target == "/tokenize") { // as servers other than vLLM's kin answer
            exchange.respond(404, "application/json", R"({"detail":"Not Found"})");
            return;
        }
        exchange.beginChunked(200, "text/event-stream");
        exchange.writeChunk(m_reply);
        if (m_reply.find("HOLD") != std::string::npos)
            exchange.waitForClientToLeave();
        exchange.endChunks();
    }};
    QTemporaryDir m_dir;
    cluster::HttpClient m_http;
    Theme m_theme;
    std::unique_ptr<JobRunner> m_jobs;
    std::unique_ptr<ChatLibrary> m_library;
    std::unique_ptr<ChatController> m_chat;
    std::unique_ptr<ChatPage> m_page;
    int m_files = 0;

    TranscriptView *view() { return m_page->transcriptView(); }
    int controlOf(int index, MessageControl::Kind kind)
    {
        const auto &controls = view()->layoutOf(index).controls();
        for (int i = 0; i < controls.size(); ++i)
            if (controls[i].kind == kind)
                return i;
        return -1;
    }
    void press(int index, MessageControl::Kind kind)
    {
        view()->setCurrentMessage(index);
        QTest::mouseClick(view()->viewport(), Qt::LeftButton, {},
                          view()->controlCenter(index, controlOf(index, kind)));
    }

private slots:
    void initTestCase() { m_theme.applyToApplication(); }
    void init()
    {
        m_reply = chunk(R"("content":"An **answer**")", "\"stop\"") + "data: [DONE]\n\n";
        m_jobs = std::make_unique<JobRunner>(4);
        m_library = std::make_unique<ChatLibrary>(m_dir.filePath(QStringLiteral("c%1.db").arg(++m_files)));
        m_library->open();
        m_chat = std::make_unique<ChatController>(*m_jobs, m_http, *m_library);
        m_page = std::make_unique<ChatPage>(*m_chat, m_theme);
        m_page->resize(1000, 700);
        m_page->show();
        m_chat->setEndpoint({QStringLiteral("Test"), QString::fromStdString(m_server.url()), {}});
        QTRY_COMPARE(m_chat->model(), QStringLiteral("m"));
    }
    void cleanup()
    {
        m_page.reset();
        m_chat.reset();
        m_library.reset();
        m_jobs.reset();
    }

    void aQuestionIsSentAndAnsweredByKeyboardAlone()
    {
        QPlainTextEdit *edit = m_page->composer()->edit();
        QTest::keyClicks(edit, QStringLiteral("Hello"));
        QTest::keyClick(edit, Qt::Key_Return, Qt::ControlModifier);
        QTRY_COMPARE(m_chat->transcript()->count(), 2);
        QTRY_VERIFY(!m_chat->isBusy());
        QVERIFY(edit->toPlainText().isEmpty());
        QVERIFY(view()->isVisible());
        view()->setFocus();
        view()->setCurrentMessage(1);
        QTest::keyClick(view(), Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("An **answer**"));
        QTest::keyClick(view(), Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(view(), Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("Hello\n\nAn answer"));
    }

    void shiftAndArrowsSelectOverBlocks()
    {
        m_chat->transcript()->setMessages(
            {message(1, ChatRole::User, QStringLiteral("ab")),
             message(2, ChatRole::Assistant, QStringLiteral("first\n\n- x\n\n```\ncode\n```"))});
        view()->setCurrentMessage(0);
        for (int i = 0; i < 4; ++i)
            QTest::keyClick(view(), Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(view()->selectedText(), QStringLiteral("ab\n\nf"));
        view()->selectAll();
        QVERIFY(view()->selectedText().endsWith(QStringLiteral("• x\n\ncode")));
    }

    void codeIsCopiedByItsButton()
    {
        m_chat->transcript()->setMessages(
            {message(1, ChatRole::Assistant, QStringLiteral("Run:\n\n```bash\nls -l\necho \"x\"\n```\n"))});
        press(0, MessageControl::CopyCode);
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("ls -l\necho \"x\""));
    }

    void wideCodeKeepsItsLinesAndIsScrolledByKeyboardAndWheel()
    {
        m_chat->transcript()->setMessages({message(
            1, ChatRole::Assistant,
            QStringLiteral("```bash\n") + QString(400, QLatin1Char('x')) + QStringLiteral("\n```\n"))});
        const MessageLayout &layout = view()->layoutOf(0);
        QCOMPARE(layout.document(0).begin().layout()->lineCount(), 1);
        const qreal begin = layout.textOrigin(0).x();
        view()->setFocus();
        QTest::keyClick(view(), Qt::Key_Right, Qt::AltModifier);
        QVERIFY(layout.textOrigin(0).x() < begin);
        for (int i = 0; i < 100; ++i)
            QTest::keyClick(view(), Qt::Key_Right, Qt::AltModifier);
        const qreal end = layout.textOrigin(0).x();
        QVERIFY(end + layout.document(0).size().width() > 0); // its end stays in sight
        const QPointF at = view()->messageRect(0).center();
        QWheelEvent wheel(at, view()->viewport()->mapToGlobal(at), {}, {120, 0}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(view()->viewport(), &wheel);
        QVERIFY(layout.textOrigin(0).x() > end);
        for (int i = 0; i < 100; ++i)
            QTest::keyClick(view(), Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(layout.textOrigin(0).x(), begin);
    }

    void reasoningUnfoldsByKeyboard()
    {
        ChatMessage answer = message(1, ChatRole::Assistant, QStringLiteral("Answer"));
        answer.reasoning = QStringLiteral("Because of this.");
        m_chat->transcript()->setMessages({answer});
        const int folded = view()->messageRect(0).height();
        view()->setFocus();
        QTest::keyClick(view(), Qt::Key_Right); // The first control of the message
        QTest::keyClick(view(), Qt::Key_Space);
        QVERIFY(view()->messageRect(0).height() > folded);
        view()->selectAll();
        QCOMPARE(view()->selectedText(), QStringLiteral("Because of this.\n\nAnswer"));
    }

    void followingEndsWhenTheUserScrollsUpAndNewTextTakesItUpAgain()
    {
        QVector<ChatMessage> messages;
        for (int i = 0; i < 40; ++i)
            messages += message(i + 1, i % 2 ? ChatRole::Assistant : ChatRole::User,
                                QStringLiteral("Some text.\n\n").repeated(8));
        messages.last().state = MessageState::Streaming;
        m_chat->transcript()->setMessages(messages);
        QScrollBar *bar = view()->verticalScrollBar();
        QCOMPARE(bar->value(), bar->maximum());
        m_chat->transcript()->grow(QStringLiteral("More text.\n\n").repeated(20), {});
        QCOMPARE(bar->value(), bar->maximum());
        bar->setValue(bar->maximum() / 2);
        const int stays = bar->value();
        QVERIFY(!view()->isFollowing());
        m_chat->transcript()->grow(QStringLiteral("And more.\n\n").repeated(20), {});
        QCOMPARE(bar->value(), stays);
        auto *newText = view()->findChild<QPushButton *>();
        QVERIFY(newText->isVisible());
        newText->click();
        QCOMPARE(bar->value(), bar->maximum());
        QVERIFY(!newText->isVisible());
    }

    void onlyWhatIsNearTheViewIsLaidOut()
    {
        QVector<ChatMessage> messages;
        for (int i = 0; i < 2000; ++i)
            messages += message(i + 1, i % 2 ? ChatRole::Assistant : ChatRole::User,
                                QStringLiteral("Text **bold**\n\n").repeated(5));
        m_chat->transcript()->setMessages(messages);
        QVERIFY(view()->cachedLayouts() < 64);
        for (int value = view()->verticalScrollBar()->maximum(); value > 0; value -= 4000)
            view()->verticalScrollBar()->setValue(value);
        QVERIFY(view()->cachedLayouts() <= 130);
    }

    void stopKeepsTheTextAndFreesTheServer()
    {
        m_reply = chunk(R"("content":"HOLD this")");
        m_chat->send(QStringLiteral("x"));
        QTRY_COMPARE(m_chat->state(), ChatController::State::Streaming);
        QVERIFY(m_page->stop());
        QTRY_VERIFY(!m_chat->isBusy());
        QTRY_COMPARE(m_server.openConnections(), 0);
        QCOMPARE(m_chat->transcript()->messages().last().content, QStringLiteral("HOLD this"));
        QVERIFY(!m_page->stop());
    }

    void anErrorInTheStreamIsABannerWithARemedy()
    {
        m_reply = chunk(R"("content":"Half")") + "data: {\"error\":{\"message\":\"engine died\"}}\n\n";
        m_chat->send(QStringLiteral("x"));
        auto *banner = m_page->findChild<Banner *>();
        QTRY_VERIFY(banner->isVisible());
        QVERIFY(banner->text().cause.contains(QStringLiteral("engine died")));
        QStringList buttons;
        for (const QPushButton *button : banner->findChildren<QPushButton *>())
            buttons += button->text();
        QVERIFY(buttons.contains(QStringLiteral("Ask again")));
    }

    void editingAsksAgainAndEscapeLeavesIt()
    {
        m_chat->send(QStringLiteral("Old question"));
        QTRY_COMPARE(m_chat->transcript()->count(), 2);
        QTRY_VERIFY(!m_chat->isBusy());
        press(0, MessageControl::Edit);
        QCOMPARE(m_page->composer()->text(), QStringLiteral("Old question"));
        QVERIFY(m_page->stop());
        QVERIFY(m_page->composer()->text().isEmpty());
        press(0, MessageControl::Edit);
        m_page->composer()->setText(QStringLiteral("New question"));
        QTest::keyClick(m_page->composer()->edit(), Qt::Key_Return, Qt::ControlModifier);
        QTRY_VERIFY(!m_chat->isBusy());
        QCOMPARE(m_chat->transcript()->at(0).content, QStringLiteral("New question"));
        QVERIFY(controlOf(0, MessageControl::PreviousVersion) >= 0);
    }

    void accessibleNamesAreUniqueAndMessagesAreChildren()
    {
        m_chat->transcript()->setMessages({message(1, ChatRole::User, QStringLiteral("Question?")),
                                           message(2, ChatRole::Assistant, QStringLiteral("Answer."))});
        const auto docks = m_page->docks();
        QSet<QString> names;
        QList<QWidget *> widgets
            = m_page->findChildren<QWidget *>() + docks.first().widget->findChildren<QWidget *>();
        for (QWidget *widget : widgets) {
            const bool isControl = qobject_cast<QAbstractButton *>(widget)
                || qobject_cast<QPlainTextEdit *>(widget) || qobject_cast<QAbstractScrollArea *>(widget)
                || qobject_cast<QAbstractSlider *>(widget);
            if (!isControl || qobject_cast<QScrollBar *>(widget) || widget->focusPolicy() == Qt::NoFocus
                || !widget->isVisibleTo(widget->window())
                || (widget->window() != m_page.get() && widget->window() != docks.first().widget)) // a popup
                continue;
            QAccessibleInterface *accessible = QAccessible::queryAccessibleInterface(widget);
            const QString name = accessible->text(QAccessible::Name);
            QVERIFY2(!name.isEmpty(), widget->metaObject()->className());
            QVERIFY2(!names.contains(name), qPrintable(name));
            names += name;
        }
        delete docks.first().widget;
        QAccessibleInterface *transcript = QAccessible::queryAccessibleInterface(view());
        QCOMPARE(transcript->childCount(), 2);
        QVERIFY(transcript->child(1)->text(QAccessible::Name).contains(QStringLiteral("Answer.")));
        QVERIFY(transcript->child(1)->actionInterface()->actionNames().contains(
            QStringLiteral("Regenerate the answer")));
    }
};

QTEST_MAIN(ChatPageTest)
#include "tst_chat_page.moc"
