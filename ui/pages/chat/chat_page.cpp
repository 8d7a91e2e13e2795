#include "ui/pages/chat/chat_page.h"

#include "models/chat/chat_controller.h"
#include "models/chat/request_log.h"
#include "models/chat/transcript.h"
#include "ui/pages/chat/announcer.h"
#include "ui/pages/chat/composer.h"
#include "ui/pages/chat/conversation_panel.h"
#include "ui/pages/chat/parameters_panel.h"
#include "ui/pages/chat/rule.h"
#include "ui/pages/chat/transcript_accessible.h"
#include "ui/pages/chat/transcript_view.h"
#include "ui/theme/theme.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/empty_state.h"
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QVBoxLayout>

namespace ui {

using models::ChatController;

namespace {

PageTraits chatTraits()
{
    return {QStringLiteral("chat"), ChatPage::tr("Chat"), QStringLiteral("chat"), 5};
}

} // namespace

ChatPage::ChatPage(ChatController &controller, const Theme &theme, QWidget *parent)
    : Page(chatTraits(), parent), m_controller(controller), m_theme(theme),
      m_conversations(new ConversationPanel(controller, theme)), m_title(new ElidedLabel(Qt::ElideRight)),
      m_model(new QComboBox), m_banner(new Banner(theme)), m_empty(new EmptyState(QString())),
      m_view(new TranscriptView(*controller.transcript(), theme)), m_composer(new Composer(theme)),
      m_announcer(new Announcer(this))
{
    installTranscriptAccessibility();
    auto *split = new QSplitter(Qt::Horizontal);
    split->setHandleWidth(1);
    split->setChildrenCollapsible(false);
    m_conversations->setMinimumWidth(160);
    split->addWidget(m_conversations);
    split->addWidget(makeMiddle());
    split->setStretchFactor(1, 1);
    split->setSizes({204, 800});
    auto *layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(split);
    makeActions();
    connectController();
    connectView();
    connect(&theme, &Theme::changed, this, &ChatPage::updateModels); // icons are of one theme
    m_turn.setInterval(100);
    connect(&m_turn, &QTimer::timeout, this, &ChatPage::updateProgress);
    updateModels();
    updateState();
    updateContext();
    updateMode();
    updateEmpty();
}

QWidget *ChatPage::makeHeader()
{
    auto *header = new QWidget;
    header->setFixedHeight(44 * m_theme.zoom() / 100);
    QFont bold = m_theme.font(Theme::FontRole::Body);
    bold.setWeight(QFont::DemiBold);
    m_title->setFont(bold);
    m_title->setObjectName(QStringLiteral("conversationTitle"));
    m_title->setMinimumWidth(60);
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_model->setMinimumWidth(212);
    m_model->setMaximumWidth(320);
    m_model->setIconSize({14, 14});
    m_model->setAccessibleName(tr("Model"));
    m_model->setObjectName(QStringLiteral("model"));
    auto *layout = new QHBoxLayout(header);
    layout->setContentsMargins(14, 0, 14, 0);
    layout->addWidget(m_title, 1);
    layout->addWidget(m_model);
    return header;
}

QWidget *ChatPage::makeMiddle()
{
    auto *middle = new QWidget;
    auto *bannerRow = new QVBoxLayout;
    bannerRow->setContentsMargins(18, 0, 18, 0);
    bannerRow->addWidget(m_banner);
    auto *composerRow = new QVBoxLayout;
    composerRow->setContentsMargins(18, 4, 18, 14);
    composerRow->addWidget(m_composer);
    auto *layout = new QVBoxLayout(middle);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(makeHeader());
    layout->addWidget(new Rule(m_theme));
    layout->addSpacing(8);
    layout->addLayout(bannerRow);
    layout->addWidget(m_empty, 1);
    layout->addWidget(m_view, 1);
    layout->addLayout(composerRow);
    return middle;
}

void ChatPage::connectController()
{
    connect(&m_controller, &ChatController::modelsChanged, this, [this] {
        updateModels();
        updateContext();
        updateState();
        updateEmpty();
    });
    connect(&m_controller, &ChatController::modelChanged, this, &ChatPage::updateModels);
    connect(&m_controller, &ChatController::settingsChanged, this, &ChatPage::updateMode);
    connect(&m_controller, &ChatController::conversationChanged, this, [this] {
        leaveEditing();
        updateContext();
        updateEmpty();
    });
    connect(&m_controller, &ChatController::stateChanged, this, &ChatPage::updateState);
    connect(&m_controller, &ChatController::answered, this, [this](int index) {
        const models::ChatMessage &message = m_controller.transcript()->at(index);
        m_announcer->endText(message.content);
        m_announcer->announceState(toText(footerOf(message)));
        updateContext();
    });
    connect(&m_controller, &ChatController::problemOccurred, this, &ChatPage::onProblem);
    connect(&m_controller, &ChatController::problemCleared, m_banner, &Banner::dismiss);
    connect(m_controller.transcript(), &models::Transcript::appended, this, [this] { updateEmpty(); });
    connect(m_controller.transcript(), &models::Transcript::reset, this, [this] { updateEmpty(); });
    connect(m_controller.transcript(), &models::Transcript::grew, this,
            [this](int index) { m_announcer->textGrew(m_controller.transcript()->at(index).content); });
}

void ChatPage::connectView()
{
    connect(m_view, &TranscriptView::stopRequested, &m_controller, &ChatController::stop);
    connect(m_view, &TranscriptView::regenerateRequested, &m_controller, &ChatController::regenerate);
    connect(m_view, &TranscriptView::variantRequested, &m_controller, &ChatController::showVariant);
    connect(m_view, &TranscriptView::editRequested, this, &ChatPage::onEdit);
    connect(m_view, &TranscriptView::copied, m_announcer, &Announcer::announceState);
    connect(m_composer, &Composer::sendRequested, this, &ChatPage::onSend);
    connect(m_composer, &Composer::editLastRequested, this, [this] { onEdit(lastIndex(true)); });
    connect(m_composer, &Composer::modeLeft, this, [this] {
        if (m_editing >= 0)
            leaveEditing();
        else
            m_controller.setCompletionMode(false);
    });
    connect(m_conversations, &ConversationPanel::newChatRequested, this, [this] {
        m_controller.newConversation();
        m_composer->edit()->setFocus();
    });
    connect(m_model, &QComboBox::textActivated, &m_controller, &ChatController::setModel);
    connect(m_empty, &EmptyState::actionTriggered, this, &ChatPage::endpointRequested);
}

void ChatPage::onSend(const QString &text)
{
    if (m_controller.isBusy())
        return;
    m_announcer->beginText();
    const int editing = m_editing;
    leaveEditing();
    m_composer->clear();
    if (editing >= 0)
        m_controller.edit(editing, text);
    else
        m_controller.send(text);
}

void ChatPage::onEdit(int index)
{
    if (index < 0 || m_controller.isBusy())
        return;
    m_editing = index;
    m_composer->setText(m_controller.transcript()->at(index).content);
    m_composer->edit()->setFocus();
    updateMode();
}

void ChatPage::leaveEditing()
{
    if (m_editing < 0)
        return;
    m_editing = -1;
    m_composer->clear();
    updateMode();
}

void ChatPage::onProblem(const models::ChatProblem &problem)
{
    using models::ChatProblem;
    QList<BannerFix> fixes;
    const bool isWarning = problem.kind == ChatProblem::History || problem.kind == ChatProblem::StillRunning
        || problem.kind == ChatProblem::NoTemplate;
    if (problem.kind == ChatProblem::NoTemplate)
        fixes.append({tr("Complete the text instead"), [this] {
                          m_controller.setCompletionMode(true);
                          m_controller.retry();
                      }});
    if (problem.kind == ChatProblem::Endpoint)
        fixes.append({tr("Try again"), [this] {
                          m_banner->dismiss();
                          m_controller.refreshModels();
                      }});
    else if (problem.canRetry)
        fixes.append({tr("Ask again"), [this] { m_controller.retry(); }});
    fixes.append({tr("Dismiss"), [this] { m_banner->dismiss(); }});
    m_banner->showText({isWarning ? State::Warn : State::Err, problem.title, problem.cause, problem.details},
                       fixes);
    m_announcer->announceState(problem.title);
}

void ChatPage::updateModels()
{
    const QSignalBlocker blocker(m_model);
    m_model->clear();
    for (const models::ServedModel &model : m_controller.models())
        m_model->addItem(m_theme.icon(QStringLiteral("state-ok")), model.id);
    m_model->setCurrentText(m_controller.model());
    m_model->setEnabled(m_model->count() > 0);
    if (m_model->count() == 0) {
        m_model->addItem(tr("No model"));
        m_model->setToolTip(tr("No endpoint has told its models yet."));
    } else {
        m_model->setToolTip(m_controller.endpoint().name);
    }
    updateContext();
    updateMode();
}

void ChatPage::updateState()
{
    const bool hasModel = !m_controller.models().isEmpty();
    m_composer->setSendEnabled(hasModel && !m_controller.isBusy(),
                               hasModel ? tr("An answer is coming; stop it first")
                                        : tr("No model is there to answer"));
    switch (m_controller.state()) {
    case ChatController::State::Idle:
        m_turn.stop();
        setState(State::None);
        setStatusText({});
        return;
    case ChatController::State::Waiting:
        m_announcer->beginText();
        setState(State::Run, tr("Waiting"));
        break;
    case ChatController::State::Streaming:
        setState(State::Run, tr("Streaming"));
        break;
    case ChatController::State::Stalled:
        setState(State::Warn, tr("Stalled"));
        m_announcer->announceState(tr("The server has gone silent."));
        break;
    }
    m_turn.start();
    updateProgress();
}

void ChatPage::updateProgress()
{
    if (!m_controller.isBusy())
        return;
    const models::AnswerRate &rate = m_controller.rate();
    QString word = tr("Streaming");
    State state = State::Run;
    if (m_controller.state() == ChatController::State::Waiting)
        word = tr("Waiting for the first token");
    if (m_controller.state() == ChatController::State::Stalled) {
        word = tr("Nothing for %1 s. Stop keeps the text").arg(m_controller.silence().count() / 1000);
        state = State::Warn;
    }
    m_view->setLiveFooter(footerOf(rate, state, word));
    const auto mean = rate.mean();
    setStatusText(mean ? tr("Streaming, %1 tok/s").arg(QLocale().toString(*mean, 'f', 0)) : word);
}

void ChatPage::updateContext()
{
    const auto used = m_controller.contextUsed();
    const auto limit = m_controller.contextLimit();
    const QLocale locale;
    if (limit)
        m_composer->setContextText(
            tr("%1 of %2 tokens in context").arg(locale.toString(used.value_or(0)), locale.toString(*limit)));
    else
        m_composer->setContextText(used ? tr("%1 tokens in context").arg(locale.toString(*used)) : QString());
}

void ChatPage::updateMode()
{
    const bool isCompletion = m_controller.isCompletionMode();
    if (m_editing >= 0)
        m_composer->setMode(tr("Editing a question. What followed it stays as another version."),
                            tr("Cancel edit"));
    else if (isCompletion)
        m_composer->setMode(
            tr("Completion: %1 has no chat template, so it goes on with your text as it stands.")
                .arg(m_controller.model()),
            tr("Chat instead"));
    else
        m_composer->setMode({});
    m_composer->setPlaceholder(isCompletion                                  ? tr("Text to be continued")
                                   : m_controller.transcript()->count() == 0 ? tr("Ask something")
                                                                             : tr("Ask a follow-up"));
}

void ChatPage::updateEmpty()
{
    const QString title = m_controller.title();
    m_title->setText(title.isEmpty() ? tr("New chat") : title);
    m_title->setToolTip(title);
    const bool isEmpty = m_controller.transcript()->count() == 0;
    const bool hasEndpoint = !m_controller.endpoint().baseUrl.isEmpty();
    m_empty->setSentence(!hasEndpoint ? tr("No model is running yet.")
                             : m_controller.models().isEmpty()
                             ? tr("Asking %1 for its models…").arg(m_controller.endpoint().name)
                             : tr("Ask %1 something.").arg(m_controller.model()));
    m_empty->setActionText(hasEndpoint ? QString() : tr("Start the local engine"));
    m_empty->setVisible(isEmpty);
    m_view->setVisible(!isEmpty);
    updateMode();
}

void ChatPage::refresh()
{
    m_controller.refreshModels();
}

bool ChatPage::stop()
{
    if (m_controller.isBusy()) {
        m_controller.stop();
        return true;
    }
    if (m_editing < 0)
        return false;
    leaveEditing();
    return true;
}

QWidget *ChatPage::startWidget()
{
    return m_composer->edit();
}

int ChatPage::lastIndex(bool ofUser) const
{
    const auto &messages = m_controller.transcript()->messages();
    for (int i = static_cast<int>(messages.size()) - 1; i >= 0; --i)
        if ((messages[i].role == models::ChatRole::User) == ofUser)
            return i;
    return -1;
}

} // namespace ui
