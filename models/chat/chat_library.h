#pragma once

#include "cluster/base/result.h"
#include "models/bridge/job_runner.h"
#include "models/chat/conversation.h"
#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>

namespace models {

class ConversationListModel;
class ConversationStore;

/// The saved conversations for the GUI thread: writes are queued and return at once, reads call back. One
/// thread of its own does them in order; the destructor waits until the last write is done.
class ChatLibrary : public QObject
{
    Q_OBJECT

public:
    /// `file`: the SQLite file; its folder is made.
    explicit ChatLibrary(const QString &file, QObject *parent = nullptr);
    ~ChatLibrary() override;

    void open();
    [[nodiscard]] ConversationListModel *conversations() const { return m_list; }

    /// Fills the list model with what is found, 150 ms after the last call; an empty text ends the search.
    void search(const QString &text);
    void load(qint64 conversation, std::function<void(cluster::Result<Conversation>)> deliver);
    void showVariant(qint64 conversation, qint64 message, int step,
                     std::function<void(cluster::Result<Conversation>)> deliver);

    void create(const Conversation &conversation);
    void rename(qint64 conversation, const QString &title);
    void saveSettings(const Conversation &conversation);
    void remove(qint64 conversation);
    void addMessage(qint64 conversation, const ChatMessage &message);
    void saveProgress(const ChatMessage &message);
    void finishMessage(const ChatMessage &message);

    /// New ids: later ones are greater, also over program starts.
    [[nodiscard]] qint64 newId();
    [[nodiscard]] int pendingCount() const { return m_jobs.pendingCount(); }

signals:
    void opened(int cutAnswers);
    void damagedFileMovedAside(const QString &where);
    void failed(const QString &message);
    void searched();

private:
    struct Shared;
    struct Reopened;

    void write(std::function<cluster::Status(ConversationStore &)> work);
    void searchNow();

    ConversationListModel *m_list;
    std::shared_ptr<Shared> m_shared;
    QTimer m_searchDelay;
    QString m_searchText;
    qint64 m_lastId = 0;
    JobRunner m_jobs; // One thread: the order of writes is the order of calls. Last, so that it ends first.
    LatestJob m_searchJob;
};

} // namespace models
