// Menu actions and dialogs of the chat page; its parts are put together in chat_page.cpp.
#include "ui/pages/chat/chat_page.h"

#include "models/chat/chat_controller.h"
#include "models/chat/transcript.h"
#include "ui/pages/chat/announcer.h"
#include "ui/pages/chat/composer.h"
#include "ui/pages/chat/conversation_panel.h"
#include "ui/pages/chat/parameters_panel.h"
#include "ui/pages/chat/request_inspector.h"
#include "ui/pages/chat/transcript_view.h"
#include "ui/widgets/banner.h"
#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QPlainTextEdit>

namespace ui {

QAction *ChatPage::addAction(MenuId menu, const QString &text, const QKeySequence &shortcut,
                             std::function<void()> run)
{
    auto *action = new QAction(text, this);
    action->setShortcut(shortcut);
    connect(action, &QAction::triggered, this, std::move(run));
    m_actions.append({action, menu});
    return action;
}

void ChatPage::makeActions()
{
    addAction(MenuId::File, tr("New &chat"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_N), [this] {
        m_controller.newConversation();
        m_composer->edit()->setFocus();
    });
    addAction(MenuId::File, tr("&Export conversation…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
              [this] { exportConversation(); });
    addAction(MenuId::File, tr("Rename conversatio&n…"), {}, [this] { m_conversations->renameCurrent(); });
    addAction(MenuId::File, tr("&Delete conversation…"), {}, [this] { m_conversations->removeCurrent(); });
    addAction(MenuId::Edit, tr("&Search conversations"), QKeySequence::Find,
              [this] { m_conversations->focusSearch(); });
    addAction(MenuId::Edit, tr("Copy &last answer"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] {
        if (const int index = lastIndex(false); index >= 0)
            copyText(m_controller.transcript()->at(index).content, tr("Answer copied"));
    });
    addAction(MenuId::Edit, tr("&Regenerate last answer"), QKeySequence(Qt::CTRL | Qt::Key_R),
              [this] { m_controller.regenerate(lastIndex(false)); });
    addAction(MenuId::Edit, tr("Edit last &question"), QKeySequence(Qt::CTRL | Qt::Key_Up),
              [this] { onEdit(lastIndex(true)); });
    addAction(MenuId::Edit, tr("Copy as cur&l"), {},
              [this] { copyText(m_controller.curlText(), tr("Copied as curl")); });
    addAction(MenuId::Edit, tr("Copy as P&ython"), {},
              [this] { copyText(m_controller.pythonText(), tr("Copied as Python")); });
    addAction(MenuId::View, tr("Show or hide last &reasoning"), QKeySequence(Qt::CTRL | Qt::Key_T), [this] {
        const int index = lastIndex(false);
        if (index >= 0 && !m_controller.transcript()->at(index).reasoning.isEmpty())
            m_view->toggleReasoning(index);
    });
    addAction(MenuId::View, tr("&Follow the answer"), QKeySequence(Qt::CTRL | Qt::Key_End),
              [this] { m_view->follow(); });
    addAction(MenuId::Tools, tr("Show re&quest and stream"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_R),
              [this] { showInspector(); });
}

QList<PageDock> ChatPage::docks()
{
    m_parameters = new ParametersPanel(m_controller, m_theme);
    connect(m_parameters, &ParametersPanel::curlRequested, this,
            [this] { copyText(m_controller.curlText(), tr("Copied as curl")); });
    connect(m_parameters, &ParametersPanel::pythonRequested, this,
            [this] { copyText(m_controller.pythonText(), tr("Copied as Python")); });
    connect(m_parameters, &ParametersPanel::inspectRequested, this, &ChatPage::showInspector);
    connect(m_parameters, &ParametersPanel::exportRequested, this, &ChatPage::exportConversation);
    return {
        {QStringLiteral("chat.parameters"), tr("Parameters"), m_parameters, Qt::RightDockWidgetArea, 300}};
}

void ChatPage::showInspector()
{
    if (!m_inspector)
        m_inspector = new RequestInspector(*m_controller.requestLog(), m_theme, this);
    m_inspector->show();
    m_inspector->raise();
    m_inspector->activateWindow();
}

void ChatPage::exportConversation()
{
    QString filter;
    const QString file = QFileDialog::getSaveFileName(this, tr("Export conversation"),
                                                      m_controller.title() + QStringLiteral(".md"),
                                                      tr("Markdown (*.md);;JSON (*.json)"), &filter);
    if (file.isEmpty())
        return;
    if (const QString error = m_controller.exportTo(file); !error.isEmpty())
        m_banner->showText({State::Err, tr("The conversation was not exported."), error, error},
                           {{tr("Choose another place…"), [this] { exportConversation(); }}});
    else
        m_announcer->announceState(tr("Exported to %1").arg(file));
}

void ChatPage::copyText(const QString &text, const QString &what)
{
    QGuiApplication::clipboard()->setText(text);
    m_announcer->announceState(what);
}

} // namespace ui
