#include "models/chat/chat_library.h"

#include "models/chat/conversation_list_model.h"
#include "models/chat/conversation_store.h"

namespace models {
namespace {

constexpr int searchDelay = 150; // ms
constexpr int mostFound = 500;

cluster::Error notOpen()
{
    return {cluster::ErrorCode::FailedPrecondition,
            "The chat history is not open; new messages are not saved."};
}

struct OpenOutcome
{
    cluster::Result<QVector<ConversationSummary>> conversations;
    QString movedAside;
    int cutAnswers = 0;
};

struct WriteOutcome
{
    cluster::Status status;
    QString movedAside;
};

} // namespace

/// Only touched by the one worker thread.
struct ChatLibrary::Shared
{
    QString file;
    std::unique_ptr<ConversationStore> store;

    cluster::Result<ConversationStore::Opened> open()
    {
        store.reset();
        auto opened = ConversationStore::open(file, QDateTime::currentDateTime());
        if (opened)
            store = std::move(opened->store);
        return opened;
    }
};

ChatLibrary::ChatLibrary(const QString &file, QObject *parent)
    : QObject(parent), m_list(new ConversationListModel(this)), m_shared(std::make_shared<Shared>()),
      m_jobs(1)
{
    m_shared->file = file;
    m_searchDelay.setSingleShot(true);
    m_searchDelay.setInterval(searchDelay);
    connect(&m_searchDelay, &QTimer::timeout, this, &ChatLibrary::searchNow);
}

ChatLibrary::~ChatLibrary() = default;

void ChatLibrary::open()
{
    m_jobs.run(
        this,
        [shared = m_shared](const JobContext &) -> OpenOutcome {
            const auto opened = shared->open();
            if (!opened)
                return {tl::unexpected(opened.error()), {}, 0};
            return {shared->store->list(), opened->movedAside, opened->cutAnswers};
        },
        [this](const OpenOutcome &outcome) {
            if (!outcome.movedAside.isEmpty())
                emit damagedFileMovedAside(outcome.movedAside);
            if (!outcome.conversations) {
                emit failed(QString::fromStdString(outcome.conversations.error().message));
                return;
            }
            m_list->setConversations(*outcome.conversations);
            emit opened(outcome.cutAnswers);
        });
}

void ChatLibrary::search(const QString &text)
{
    m_searchText = text.trimmed();
    if (m_searchText.isEmpty()) {
        m_searchDelay.stop();
        m_searchJob.cancel();
        m_list->endSearch();
        emit searched();
        return;
    }
    m_searchDelay.start();
}

void ChatLibrary::searchNow()
{
    m_searchJob = m_jobs.run(
        this,
        [shared = m_shared,
         text = m_searchText](const JobContext &) -> cluster::Result<QVector<ConversationSummary>> {
            if (!shared->store)
                return tl::unexpected(notOpen());
            return shared->store->search(text, mostFound);
        },
        [this](const cluster::Result<QVector<ConversationSummary>> &found) {
            if (!found) {
                emit failed(QString::fromStdString(found.error().message));
                return;
            }
            m_list->showFound(*found);
            emit searched();
        });
}

void ChatLibrary::load(qint64 conversation, std::function<void(cluster::Result<Conversation>)> deliver)
{
    m_jobs.run(
        this,
        [shared = m_shared, conversation](const JobContext &) -> cluster::Result<Conversation> {
            if (!shared->store)
                return tl::unexpected(notOpen());
            return shared->store->load(conversation);
        },
        std::move(deliver));
}

void ChatLibrary::showVariant(qint64 conversation, qint64 message, int step,
                              std::function<void(cluster::Result<Conversation>)> deliver)
{
    m_jobs.run(
        this,
        [shared = m_shared, conversation, message,
         step](const JobContext &) -> cluster::Result<Conversation> {
            if (!shared->store)
                return tl::unexpected(notOpen());
            if (const auto shown = shared->store->showVariant(conversation, message, step); !shown)
                return tl::unexpected(shown.error());
            return shared->store->load(conversation);
        },
        std::move(deliver));
}

void ChatLibrary::write(std::function<cluster::Status(ConversationStore &)> work)
{
    m_jobs.run(
        this,
        [shared = m_shared, work = std::move(work)](const JobContext &) -> WriteOutcome {
            if (!shared->store)
                return {tl::unexpected(notOpen()), {}};
            WriteOutcome outcome{work(*shared->store), {}};
            if (!outcome.status && outcome.status.error().code == cluster::ErrorCode::DataLoss)
                if (const auto opened = shared->open())
                    outcome.movedAside = opened->movedAside;
            return outcome;
        },
        [this](const WriteOutcome &outcome) {
            if (!outcome.movedAside.isEmpty())
                emit damagedFileMovedAside(outcome.movedAside);
            else if (!outcome.status)
                emit failed(QString::fromStdString(outcome.status.error().message));
        });
}

void ChatLibrary::create(const Conversation &conversation)
{
    m_list->prepend({conversation.id, conversation.title, conversation.created, 0, {}});
    write([conversation](ConversationStore &store) { return store.create(conversation); });
}

void ChatLibrary::rename(qint64 conversation, const QString &title)
{
    m_list->rename(conversation, title);
    write([conversation, title](ConversationStore &store) { return store.rename(conversation, title); });
}

void ChatLibrary::saveSettings(const Conversation &conversation)
{
    write([conversation](ConversationStore &store) { return store.saveSettings(conversation); });
}

void ChatLibrary::remove(qint64 conversation)
{
    m_list->remove(conversation);
    write([conversation](ConversationStore &store) { return store.remove(conversation); });
}

void ChatLibrary::addMessage(qint64 conversation, const ChatMessage &message)
{
    m_list->touch(conversation, message.created, 1);
    write([conversation, message](ConversationStore &store) {
        return store.addMessage(conversation, message);
    });
}

void ChatLibrary::saveProgress(const ChatMessage &message)
{
    write([message](ConversationStore &store) { return store.saveProgress(message); });
}

void ChatLibrary::finishMessage(const ChatMessage &message)
{
    write([message](ConversationStore &store) { return store.finishMessage(message); });
}

qint64 ChatLibrary::newId()
{
    // Milliseconds with room for 1,024 ids in each: ordered by time without asking the file.
    m_lastId = std::max(m_lastId + 1, QDateTime::currentMSecsSinceEpoch() << 10);
    return m_lastId;
}

} // namespace models
