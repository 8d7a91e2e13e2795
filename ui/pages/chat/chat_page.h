#pragma once

#include "ui/pages/chat/answer_footer.h"
#include "ui/shell/page.h"
#include <QPointer>
#include <QTimer>

class QComboBox;
class QLabel;
class QPushButton;

namespace models {
class ChatController;
struct ChatProblem;
} // namespace models

namespace ui {

class Announcer;
class Banner;
class Composer;
class ConversationPanel;
class EmptyState;
class ParametersPanel;
class RequestInspector;
class Theme;
class TranscriptView;

/// Chat with a served model: conversations at the left, transcript and composer, parameters in a dock.
class ChatPage : public Page
{
    Q_OBJECT

public:
    /// Both outlive the page. Give the controller its endpoint before or after; without one the page says so.
    ChatPage(models::ChatController &controller, const Theme &theme, QWidget *parent = nullptr);

    QList<PageDock> docks() override;
    QList<PageAction> actions() override { return m_actions; }
    void refresh() override;
    bool stop() override;
    QWidget *startWidget() override;

    [[nodiscard]] TranscriptView *transcriptView() const { return m_view; }
    [[nodiscard]] Composer *composer() const { return m_composer; }
    [[nodiscard]] ConversationPanel *conversationPanel() const { return m_conversations; }

signals:
    /// The page has no endpoint and the user wants one: start the local engine.
    void endpointRequested();

private:
    QWidget *makeHeader();
    QWidget *makeMiddle();
    void makeActions();
    QAction *addAction(MenuId menu, const QString &text, const QKeySequence &shortcut,
                       std::function<void()> run);
    void connectController();
    void connectView();
    void onSend(const QString &text);
    void onEdit(int index);
    void onProblem(const models::ChatProblem &problem);
    void updateModels();
    void updateState();
    void updateProgress();
    void updateContext();
    void updateMode();
    void updateEmpty();
    void leaveEditing();
    void showInspector();
    void exportConversation();
    void copyText(const QString &text, const QString &what);
    [[nodiscard]] int lastIndex(bool ofUser) const;

    models::ChatController &m_controller;
    const Theme &m_theme;
    ConversationPanel *m_conversations;
    QLabel *m_title;
    QComboBox *m_model;
    Banner *m_banner;
    EmptyState *m_empty;
    TranscriptView *m_view;
    Composer *m_composer;
    Announcer *m_announcer;
    QPointer<ParametersPanel> m_parameters; // Its dock owns it.
    QPointer<RequestInspector> m_inspector;
    QList<PageAction> m_actions;
    QTimer m_turn; // The ring of the running answer.
    int m_editing = -1; // The question that is being edited.
    bool m_isAnnouncing = false;
};

} // namespace ui
