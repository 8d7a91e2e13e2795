#include "models/chat/chat_export.h"
#include "models/chat/conversation_store.h"
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace models;

namespace {

Conversation conversationNamed(qint64 id, const QString &title)
{
    Conversation conversation;
    conversation.id = id;
    conversation.title = title;
    conversation.created = QDateTime::fromMSecsSinceEpoch(1'790'000'000'000 + id);
    conversation.systemPrompt = QStringLiteral("Be brief.");
    conversation.parameters.temperature = 0.5;
    conversation.parameters.seed = 7;
    return conversation;
}

ChatMessage message(qint64 id, qint64 parent, ChatRole role, const QString &text)
{
    ChatMessage message;
    message.id = id;
    message.parent = parent;
    message.role = role;
    message.content = text;
    message.created = QDateTime::fromMSecsSinceEpoch(1'790'000'000'000 + id);
    return message;
}

} // namespace

class ChatStoreTest : public QObject
{
    Q_OBJECT

    QTemporaryDir m_dir;
    QString m_file;

    ConversationStore::Opened open()
    {
        auto opened = ConversationStore::open(m_file, QDateTime::currentDateTime());
        if (!opened)
            qFatal("%s", opened.error().message.c_str());
        return std::move(*opened);
    }

private slots:
    void init()
    {
        m_file = m_dir.filePath(
            QStringLiteral("%1/chats.db").arg(QString::fromLatin1(QTest::currentTestFunction())));
    }

    void aConversationComesBackAsItWasSaved()
    {
        {
            auto store = open().store;
            QVERIFY(store->create(conversationNamed(1, QStringLiteral("Größe"))));
            QVERIFY(store->addMessage(1, message(2, 0, ChatRole::User, QStringLiteral("Wie groß?"))));
            ChatMessage answer = message(3, 2, ChatRole::Assistant, QStringLiteral("Gr"));
            answer.state = MessageState::Streaming;
            QVERIFY(store->addMessage(1, answer));
            answer.content = QStringLiteral("Groß \U0001F600");
            answer.state = MessageState::Complete;
            answer.measurements.ttft = std::chrono::microseconds(1500);
            answer.measurements.completionTokens = 5;
            answer.measurements.finishReason = QStringLiteral("stop");
            QVERIFY(store->finishMessage(answer));
        }
        const auto loaded = open().store->load(1);
        QVERIFY(loaded);
        QCOMPARE(loaded->systemPrompt, QStringLiteral("Be brief."));
        QCOMPARE(loaded->parameters, conversationNamed(1, {}).parameters);
        QCOMPARE(loaded->path.size(), 2);
        QCOMPARE(loaded->path[1].content, QStringLiteral("Groß \U0001F600"));
        QCOMPARE(loaded->path[1].measurements.ttft->count(), 1500);
        QCOMPARE(*loaded->path[1].measurements.completionTokens, 5);
        QCOMPARE(loaded->path[1].state, MessageState::Complete);
    }

    void anAnswerBeingWrittenSurvivesAKilledProcess()
    {
        int ready[2];
        QCOMPARE(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) {
            auto store = open().store;
            (void)store->create(conversationNamed(1, QStringLiteral("Killed")));
            (void)store->addMessage(1, message(2, 0, ChatRole::User, QStringLiteral("Question")));
            ChatMessage answer = message(3, 2, ChatRole::Assistant, QString());
            answer.state = MessageState::Streaming;
            (void)store->addMessage(1, answer);
            answer.content = QStringLiteral("The first half");
            (void)store->saveProgress(answer);
            (void)!write(ready[1], "x", 1);
            pause();
            _exit(0);
        }
        char byte = 0;
        QCOMPARE(read(ready[0], &byte, 1), ssize_t(1));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);

        const auto opened = open();
        QCOMPARE(opened.cutAnswers, 1);
        QVERIFY(opened.movedAside.isEmpty());
        const auto loaded = opened.store->load(1);
        QVERIFY(loaded);
        QCOMPARE(loaded->path.last().content, QStringLiteral("The first half"));
        QCOMPARE(loaded->path.last().state, MessageState::Cut);
        QVERIFY(!loaded->path.last().error.isEmpty());
        const auto found = opened.store->search(QStringLiteral("first half"), 10);
        QVERIFY(found);
        QCOMPARE(found->size(), 1);
    }

    void aDamagedFileIsMovedAsideNotDeleted_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addRow("no database") << QByteArray(8192, 'x');
        QTest::addRow("header and noise") << QByteArray("SQLite format 3\0", 16) + QByteArray(8192, '\x5a');
    }
    void aDamagedFileIsMovedAsideNotDeleted()
    {
        QFETCH(QByteArray, bytes);
        m_file = m_dir.filePath(QString::fromLatin1(QTest::currentDataTag()) + QStringLiteral(".db"));
        QFile file(m_file);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        file.close();
        const auto opened = open();
        QVERIFY(!opened.movedAside.isEmpty());
        QFile kept(opened.movedAside);
        QVERIFY(kept.open(QIODevice::ReadOnly));
        QCOMPARE(kept.readAll(), bytes);
        QVERIFY(opened.store->list()->isEmpty());
        QVERIFY(opened.store->create(conversationNamed(1, QStringLiteral("New"))));
    }

    void aDamagedPageIsFoundWhenTheFileIsOpened()
    {
        {
            auto store = open().store;
            for (int i = 1; i < 400; ++i)
                QVERIFY(store->create(conversationNamed(i, QStringLiteral("Conversation %1").arg(i))));
        }
        QFile file(m_file);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.size() > 5 * 4096);
        for (qint64 page = 1; page * 4096 < file.size(); ++page) {
            file.seek(page * 4096);
            file.write(QByteArray(4096, '\x7f'));
        }
        file.close();
        QVERIFY(!open().movedAside.isEmpty());
    }

    void searchFindsPartsOfWordsInAnyScript_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("count");
        QTest::addRow("part of a word") << QStringLiteral("lama.c") << 1;
        QTest::addRow("other case") << QStringLiteral("LLAMA") << 1;
        QTest::addRow("Hebrew") << QStringLiteral("שלום") << 1;
        QTest::addRow("two letters") << QStringLiteral("ll") << 1;
        QTest::addRow("title") << QStringLiteral("Second") << 1;
        QTest::addRow("quotes are text") << QStringLiteral("\"quoted\" OR") << 1;
        QTest::addRow("percent is text") << QStringLiteral("%") << 0;
        QTest::addRow("nothing") << QStringLiteral("zebra") << 0;
    }
    void searchFindsPartsOfWordsInAnyScript()
    {
        QFETCH(QString, text);
        m_file = m_dir.filePath(QStringLiteral("search.db"));
        auto store = open().store;
        if (store->list()->isEmpty()) {
            QVERIFY(store->create(conversationNamed(1, QStringLiteral("First"))));
            QVERIFY(store->addMessage(1, message(2, 0, ChatRole::User, QStringLiteral("about llama.cpp"))));
            QVERIFY(store->create(conversationNamed(10, QStringLiteral("Second"))));
            QVERIFY(store->addMessage(
                10, message(11, 0, ChatRole::User, QStringLiteral("שלום עולם \"quoted\" OR not"))));
        }
        const auto found = store->search(text, 10);
        QVERIFY2(found, found ? "" : found.error().message.c_str());
        QTEST(int(found->size()), "count");
    }

    void regeneratedAnswersAndEditedQuestionsStayAsVersions()
    {
        auto store = open().store;
        QVERIFY(store->create(conversationNamed(1, QStringLiteral("Tree"))));
        QVERIFY(store->addMessage(1, message(2, 0, ChatRole::User, QStringLiteral("q"))));
        QVERIFY(store->addMessage(1, message(3, 2, ChatRole::Assistant, QStringLiteral("first"))));
        QVERIFY(store->addMessage(1, message(4, 3, ChatRole::User, QStringLiteral("more"))));
        QVERIFY(store->addMessage(1, message(5, 2, ChatRole::Assistant, QStringLiteral("second"))));
        auto shown = store->load(1);
        QCOMPARE(shown->path.size(), 2);
        QCOMPARE(shown->path[1].content, QStringLiteral("second"));
        QCOMPARE(shown->path[1].variant, 2);
        QCOMPARE(shown->path[1].variantCount, 2);
        QVERIFY(store->showVariant(1, 5, -1));
        shown = store->load(1);
        QCOMPARE(shown->path.size(), 3); // With what had been said after the first answer.
        QCOMPARE(shown->path[2].content, QStringLiteral("more"));
        QVERIFY(!store->showVariant(1, 3, -1));
    }

    void thirtyThousandConversationsAreListedInOneGo()
    {
        auto store = open().store;
        for (int i = 1; i <= 30000; ++i)
            QVERIFY(store->create(conversationNamed(i, QStringLiteral("Conversation number %1").arg(i))));
        store = open().store;
        QElapsedTimer clock;
        clock.start();
        const auto all = store->list();
        qInfo() << "30,000 listed in" << clock.elapsed() << "ms";
        QCOMPARE(all->size(), 30000);
        QCOMPARE(all->first().id, 30000);
    }

    void removedConversationsAreNotFoundAnyMore()
    {
        auto store = open().store;
        QVERIFY(store->create(conversationNamed(1, QStringLiteral("Gone"))));
        QVERIFY(store->addMessage(1, message(2, 0, ChatRole::User, QStringLiteral("secret words"))));
        QVERIFY(store->remove(1));
        QVERIFY(store->list()->isEmpty());
        QVERIFY(store->search(QStringLiteral("secret"), 10)->isEmpty());
        QVERIFY(!store->load(1));
    }

    void exportsSayWhichAnswersAreCut()
    {
        Conversation conversation = conversationNamed(1, QStringLiteral("Export"));
        conversation.path.append(message(2, 0, ChatRole::User, QStringLiteral("q")));
        ChatMessage answer = message(3, 2, ChatRole::Assistant, QStringLiteral("half"));
        answer.state = MessageState::Cut;
        answer.error = QStringLiteral("connection lost");
        conversation.path.append(answer);
        QVERIFY(toMarkdown(conversation).contains(QStringLiteral("Cut: connection lost")));
        const auto json = QJsonDocument::fromJson(toJsonText(conversation)).object();
        QCOMPARE(json[QLatin1String("messages")][1][QLatin1String("state")].toString(),
                 QStringLiteral("cut"));
        QVERIFY(exportTo(m_dir.filePath(QStringLiteral("x.md")), conversation));
        QVERIFY(!exportTo(QStringLiteral("/nonexistent/x.md"), conversation));
    }
};

QTEST_GUILESS_MAIN(ChatStoreTest)
#include "tst_chat_store.moc"
