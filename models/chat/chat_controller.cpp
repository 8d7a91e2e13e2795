#include "models/chat/chat_controller.h"

#include "cluster/openai/request_text.h"
#include "models/chat/answer_stream.h"
#include "models/chat/chat_export.h"
#include "models/chat/chat_library.h"
#include "models/chat/chat_request.h"
#include "models/chat/conversation_codec.h"
#include "models/chat/request_log.h"
#include "models/chat/transcript.h"
#include <algorithm>

namespace models {
namespace {

using Clock = std::chrono::steady_clock;

cluster::OpenAiEndpoint toClient(const ChatEndpoint &endpoint)
{
    return {endpoint.baseUrl.toStdString(), endpoint.apiKey.toStdString()};
}

} // namespace

ChatController::ChatController(JobRunner &jobs, cluster::HttpClient &http, ChatLibrary &library,
                               const ChatOptions &options, QObject *parent)
    : QObject(parent), m_jobs(jobs), m_http(http), m_library(library), m_options(options),
      m_transcript(new Transcript(this)), m_log(new RequestLog(this)),
      m_stream(new AnswerStream(jobs, http, this))
{
    connect(m_stream, &AnswerStream::grew, this, &ChatController::onGrew);
    connect(m_stream, &AnswerStream::ended, this, &ChatController::onEnded);
    connect(&m_library, &ChatLibrary::failed, this, [this](const QString &message) {
        emit problemOccurred(
            {ChatProblem::History, tr("The conversation is not saved."), message, message, false});
    });
    connect(&m_library, &ChatLibrary::damagedFileMovedAside, this, [this](const QString &where) {
        emit problemOccurred({ChatProblem::History,
                              tr("The chat history was damaged and a new one was begun."),
                              tr("The damaged file was kept as %1.").arg(where), where, false});
    });
    m_tick.setInterval(m_options.tick);
    connect(&m_tick, &QTimer::timeout, this, &ChatController::onTick);
    m_saveSettings.setSingleShot(true);
    m_saveSettings.setInterval(400);
    connect(&m_saveSettings, &QTimer::timeout, this, [this] {
        if (m_conversation.id != 0)
            m_library.saveSettings(m_conversation);
    });
}

ChatController::~ChatController()
{
    if (m_saveSettings.isActive() && m_conversation.id != 0)
        m_library.saveSettings(m_conversation);
    if (!m_stream->isRunning())
        return;
    // The program ends in the middle of an answer: what came is kept, and as cut.
    ChatMessage last = m_transcript->messages().last();
    last.state = MessageState::Cut;
    last.error = tr("Slipway ended while this answer was being written.");
    m_library.finishMessage(last);
}

void ChatController::setEndpoint(const ChatEndpoint &endpoint)
{
    m_endpoint = endpoint;
    m_models.clear();
    m_checkedModels.clear();
    emit modelsChanged();
    refreshModels();
}

void ChatController::refreshModels()
{
    if (m_endpoint.baseUrl.isEmpty())
        return;
    m_modelsJob = m_jobs.run(
        this,
        [endpoint = toClient(m_endpoint), &http = m_http](const JobContext &context) {
            cluster::OpenAiClient client(http, endpoint);
            cluster::CallOptions options;
            options.cancel = context.stopToken();
            options.deadline = cluster::Deadline::after(std::chrono::seconds(20));
            options.retries = 2;
            return client.models(options);
        },
        [this](const cluster::Result<std::vector<cluster::ModelCard>> &cards) {
            if (!cards) {
                const QString message = QString::fromStdString(cards.error().message);
                emit problemOccurred({ChatProblem::Endpoint,
                                      tr("The models of %1 can't be listed.").arg(m_endpoint.name), message,
                                      message, true});
                return;
            }
            m_models.clear();
            for (const cluster::ModelCard &card : *cards)
                m_models.append({QString::fromStdString(card.id), card.maxModelLength});
            const bool isServed
                = std::any_of(m_models.cbegin(), m_models.cend(),
                              [this](const ServedModel &m) { return m.id == m_conversation.model; });
            if (!isServed && !m_models.isEmpty())
                setModel(m_models.first().id);
            emit modelsChanged();
            checkTemplate();
        });
}

void ChatController::setModel(const QString &model)
{
    if (model == m_conversation.model)
        return;
    m_conversation.model = model;
    saveSettingsSoon();
    emit modelChanged();
    emit settingsChanged();
    checkTemplate();
}

void ChatController::newConversation()
{
    stop();
    m_loading = 0;
    Conversation fresh;
    fresh.model = m_conversation.model;
    fresh.parameters = m_conversation.parameters;
    fresh.systemPrompt = m_conversation.systemPrompt;
    show(fresh);
}

void ChatController::openConversation(qint64 id)
{
    if (id == m_conversation.id && m_loading == 0)
        return;
    stop();
    m_loading = id;
    m_library.load(id, [this, id](const cluster::Result<Conversation> &loaded) {
        if (m_loading != id)
            return; // Another one was chosen meanwhile.
        m_loading = 0;
        if (!loaded) {
            const QString message = QString::fromStdString(loaded.error().message);
            emit problemOccurred(
                {ChatProblem::History, tr("The conversation can't be opened."), message, message, false});
            return;
        }
        show(*loaded);
    });
}

void ChatController::show(const Conversation &conversation)
{
    if (m_saveSettings.isActive()) {
        m_saveSettings.stop();
        if (m_conversation.id != 0)
            m_library.saveSettings(m_conversation);
    }
    const QString served = m_conversation.model;
    m_conversation = conversation;
    m_conversation.path.clear();
    const bool isServed = m_models.isEmpty()
        || std::any_of(m_models.cbegin(), m_models.cend(),
                       [&conversation](const ServedModel &m) { return m.id == conversation.model; });
    if (!isServed)
        m_conversation.model = served; // It was made with a model that is not here now.
    m_rate = AnswerRate();
    m_transcript->setMessages(conversation.path);
    emit problemCleared();
    emit conversationChanged();
    emit modelChanged();
    emit settingsChanged();
    emit progressed();
    checkTemplate();
}

void ChatController::renameConversation(qint64 id, const QString &title)
{
    const QString clean = title.simplified();
    if (clean.isEmpty())
        return;
    m_library.rename(id, clean);
    if (id == m_conversation.id) {
        m_conversation.title = clean;
        emit conversationChanged();
    }
}

void ChatController::removeConversation(qint64 id)
{
    if (id == m_conversation.id)
        newConversation();
    m_library.remove(id);
}

Conversation ChatController::conversation() const
{
    Conversation whole = m_conversation;
    whole.path = m_transcript->messages();
    return whole;
}

void ChatController::ensureConversation(const QString &firstText)
{
    if (m_conversation.id != 0)
        return;
    m_conversation.id = m_library.newId();
    m_conversation.title = titleFor(firstText);
    m_conversation.created = QDateTime::currentDateTime();
    m_library.create(m_conversation);
    emit conversationChanged();
}

void ChatController::send(const QString &text)
{
    if (isBusy() || m_loading != 0 || text.trimmed().isEmpty())
        return;
    emit problemCleared();
    ensureConversation(text);
    ChatMessage question;
    question.id = m_library.newId();
    question.parent = m_transcript->count() > 0 ? m_transcript->messages().last().id : 0;
    question.content = text;
    question.created = QDateTime::currentDateTime();
    m_transcript->append(question);
    m_library.addMessage(m_conversation.id, question);
    startAnswer(question.id, 1);
}

void ChatController::startAnswer(qint64 parent, int variant)
{
    const GenerationCall call = requestFor(conversation(), isCompletionMode());
    ChatMessage answer;
    answer.id = m_library.newId();
    answer.parent = parent;
    answer.role = ChatRole::Assistant;
    answer.state = MessageState::Streaming;
    answer.model = m_conversation.model;
    answer.created = QDateTime::currentDateTime();
    answer.variant = variant;
    answer.variantCount = variant;
    m_transcript->append(answer);
    m_library.addMessage(m_conversation.id, answer);
    m_log->begin(QStringLiteral("POST ") + requestUrl() + QStringLiteral("\n\n") + bodyText(call));
    m_rate.begin(Clock::now());
    m_lastSave = Clock::now();
    m_freedJob.cancel();
    setState(State::Waiting);
    m_tick.start();
    m_stream->start(toClient(m_endpoint), call);
}

QString ChatController::requestUrl() const
{
    return QString::fromStdString(cluster::openAiUrl(
        m_endpoint.baseUrl.toStdString(), isCompletionMode() ? "/completions" : "/chat/completions"));
}

void ChatController::stop()
{
    if (!isBusy())
        return;
    // The text so far is the answer from now on; what the closed connection still says is not waited for.
    m_stream->stop();
}

void ChatController::regenerate(int index)
{
    if (isBusy() || index < 0 || index >= m_transcript->count()
        || m_transcript->at(index).role != ChatRole::Assistant)
        return;
    emit problemCleared();
    const ChatMessage old = m_transcript->at(index);
    m_transcript->truncate(index);
    startAnswer(old.parent, old.variantCount + 1);
}

void ChatController::edit(int index, const QString &text)
{
    if (isBusy() || index < 0 || index >= m_transcript->count()
        || m_transcript->at(index).role != ChatRole::User || text.trimmed().isEmpty())
        return;
    emit problemCleared();
    ChatMessage question = m_transcript->at(index);
    question.id = m_library.newId();
    question.content = text;
    question.created = QDateTime::currentDateTime();
    question.variant = ++question.variantCount;
    m_transcript->truncate(index);
    m_transcript->append(question);
    m_library.addMessage(m_conversation.id, question);
    startAnswer(question.id, 1);
}

void ChatController::retry()
{
    if (m_transcript->count() > 0)
        regenerate(m_transcript->count() - 1);
}

void ChatController::showVariant(int index, int step)
{
    if (isBusy() || index < 0 || index >= m_transcript->count())
        return;
    m_library.showVariant(m_conversation.id, m_transcript->at(index).id, step,
                          [this, id = m_conversation.id](const cluster::Result<Conversation> &loaded) {
                              if (loaded && id == m_conversation.id && !isBusy())
                                  m_transcript->setMessages(loaded->path);
                          });
}

void ChatController::setParameters(const ChatParameters &parameters)
{
    if (parameters == m_conversation.parameters)
        return;
    m_conversation.parameters = parameters;
    saveSettingsSoon();
    emit settingsChanged();
}

void ChatController::setSystemPrompt(const QString &prompt)
{
    if (prompt == m_conversation.systemPrompt)
        return;
    m_conversation.systemPrompt = prompt;
    saveSettingsSoon();
    emit settingsChanged();
}

void ChatController::setCompletionMode(bool on)
{
    if (on == isCompletionMode())
        return;
    if (on)
        m_completionModels.insert(m_conversation.model);
    else
        m_completionModels.remove(m_conversation.model);
    emit settingsChanged();
}

void ChatController::saveSettingsSoon()
{
    if (m_conversation.id != 0)
        m_saveSettings.start();
}

std::optional<qint64> ChatController::contextUsed() const
{
    const auto &messages = m_transcript->messages();
    for (auto at = messages.crbegin(); at != messages.crend(); ++at)
        if (at->measurements.promptTokens)
            return *at->measurements.promptTokens + at->measurements.completionTokens.value_or(0);
    return std::nullopt;
}

std::optional<qint64> ChatController::contextLimit() const
{
    for (const ServedModel &model : m_models)
        if (model.id == m_conversation.model)
            return model.maxLength;
    return std::nullopt;
}

QString ChatController::curlText() const
{
    return models::curlText(m_endpoint.baseUrl, !m_endpoint.apiKey.isEmpty(),
                            requestFor(conversation(), isCompletionMode()));
}

QString ChatController::exportTo(const QString &file) const
{
    const cluster::Status done = models::exportTo(file, conversation());
    return done ? QString() : QString::fromStdString(done.error().message);
}

std::chrono::milliseconds ChatController::silence() const
{
    return m_stream->silence();
}

QString ChatController::pythonText() const
{
    return models::pythonText(m_endpoint.baseUrl, !m_endpoint.apiKey.isEmpty(),
                              requestFor(conversation(), isCompletionMode()));
}

} // namespace models
