#pragma once

#include "models/bridge/job_runner.h"
#include "models/chat/answer_rate.h"
#include "models/chat/conversation.h"
#include "models/chat/served_models.h"
#include <QObject>
#include <QSet>
#include <QTimer>
#include <memory>

namespace cluster {
class HttpClient;
struct Error;
} // namespace cluster

namespace models {

class AnswerStream;
class ChatLibrary;
class RequestLog;
class Transcript;
struct AnswerBatch;
struct AnswerEnd;

/// Something that went wrong, for a banner: what, why, and what may be done.
struct ChatProblem
{
    enum Kind { Request, NoTemplate, Endpoint, History, StillRunning };
    Kind kind = Request;
    QString title;
    QString cause;
    QString details; ///< For "Copy details"; no secrets.
    bool canRetry = false;
};

/// How soon silence counts; parameters so that tests need not wait.
struct ChatOptions
{
    std::chrono::milliseconds shortestStall{10000}; ///< No silence shorter than this is a stall
    std::chrono::milliseconds tick{1000}; ///< How often a running answer is looked at
};

/// The chat page without its widgets: one conversation that is shown, at most one answer that is coming.
///
/// Threads: GUI thread; requests and the store run elsewhere. Nothing here blocks.
class ChatController : public QObject
{
    Q_OBJECT

public:
    enum class State { Idle, Waiting, Streaming, Stalled };
    Q_ENUM(State)

    /// The three outlive the controller.
    ChatController(JobRunner &jobs, cluster::HttpClient &http, ChatLibrary &library,
                   const ChatOptions &options = {}, QObject *parent = nullptr);
    ~ChatController() override;

    void setEndpoint(const ChatEndpoint &endpoint);
    [[nodiscard]] const ChatEndpoint &endpoint() const { return m_endpoint; }
    void refreshModels();
    [[nodiscard]] const QVector<ServedModel> &models() const { return m_models; }
    [[nodiscard]] QString model() const { return m_conversation.model; }
    void setModel(const QString &model);

    void newConversation();
    void openConversation(qint64 id);
    void renameConversation(qint64 id, const QString &title);
    void removeConversation(qint64 id);
    [[nodiscard]] qint64 conversationId() const { return m_conversation.id; }
    [[nodiscard]] QString title() const { return m_conversation.title; }
    [[nodiscard]] Conversation conversation() const; ///< With the messages shown.

    void send(const QString &text);
    void stop();
    void regenerate(int index); ///< The answer at `index`; the old one stays as a version.
    void edit(int index, const QString &text); ///< Asks again with another text; the old branch stays.
    void retry(); ///< The last answer again, after a problem.
    void showVariant(int index, int step);

    [[nodiscard]] ChatParameters parameters() const { return m_conversation.parameters; }
    void setParameters(const ChatParameters &parameters);
    [[nodiscard]] QString systemPrompt() const { return m_conversation.systemPrompt; }
    void setSystemPrompt(const QString &prompt);
    /// Completion: for base models, which have no chat template. Remembered per model until the program ends.
    [[nodiscard]] bool isCompletionMode() const { return m_completionModels.contains(m_conversation.model); }
    void setCompletionMode(bool on);

    [[nodiscard]] State state() const { return m_state; }
    [[nodiscard]] bool isBusy() const { return m_state != State::Idle; }
    [[nodiscard]] const AnswerRate &rate() const { return m_rate; }
    [[nodiscard]] std::chrono::milliseconds silence() const; ///< Since the last byte of the running answer.
    [[nodiscard]] std::optional<qint64> contextUsed() const;
    [[nodiscard]] std::optional<qint64> contextLimit() const;

    [[nodiscard]] QString curlText() const; ///< Of the last request, or of the one that Send would make.
    [[nodiscard]] QString pythonText() const;
    /// Writes the branch shown: Markdown for *.md, else JSON. An empty text is success, else what went wrong.
    [[nodiscard]] QString exportTo(const QString &file) const;
    [[nodiscard]] Transcript *transcript() const { return m_transcript; }
    [[nodiscard]] RequestLog *requestLog() const { return m_log; }
    [[nodiscard]] ChatLibrary &library() const { return m_library; }

signals:
    void modelsChanged();
    void modelChanged();
    void conversationChanged(); ///< Another one is shown, or its title changed.
    void settingsChanged(); ///< Parameters, system prompt or mode, not by their setters only.
    void stateChanged();
    void progressed(); ///< Numbers of the answer that is coming.
    void answered(int index); ///< The answer at `index` has ended, however.
    void problemOccurred(const models::ChatProblem &problem);
    void problemCleared();

private:
    void startAnswer(qint64 parent, int variant);
    void onGrew(const AnswerBatch &batch);
    void onEnded(const AnswerEnd &end);
    void onTick();
    void setState(State state);
    void show(const Conversation &conversation);
    void reportEnd(const AnswerEnd &end);
    void checkServerFreed();
    void checkTemplate();
    void ensureConversation(const QString &firstText);
    void saveSettingsSoon();
    [[nodiscard]] QString requestUrl() const;

    JobRunner &m_jobs;
    cluster::HttpClient &m_http;
    ChatLibrary &m_library;
    ChatOptions m_options;
    ChatEndpoint m_endpoint;
    QVector<ServedModel> m_models;
    Conversation m_conversation; // Its path is empty: m_transcript has the messages.
    QSet<QString> m_completionModels;
    QSet<QString> m_checkedModels; // Of this endpoint, whether they have a chat template
    Transcript *m_transcript;
    RequestLog *m_log;
    AnswerStream *m_stream;
    AnswerRate m_rate;
    State m_state = State::Idle;
    LatestJob m_modelsJob;
    LatestJob m_freedJob;
    LatestJob m_templateJob;
    QTimer m_tick; // Once a second while an answer is coming: stalls, numbers.
    QTimer m_saveSettings;
    std::chrono::steady_clock::time_point m_lastSave;
    qint64 m_loading = 0;
};

} // namespace models
