#include "ui/pages/chat/transcript_accessible.h"

#include "models/chat/transcript.h"
#include "ui/pages/chat/transcript_view.h"
#include <QAccessibleWidget>
#include <QCoreApplication>
#include <QHash>
#include <QPointer>

namespace ui {
namespace {

constexpr int longestText = 4000; // A screen reader asks for more by the text of the page, not by a name.

/// One message as a list item; its actions are the buttons drawn in it.
class MessageAccessible : public QAccessibleInterface, public QAccessibleActionInterface
{
public:
    MessageAccessible(TranscriptView *view, int index) : m_view(view), m_index(index) {}

    bool isValid() const override { return m_view && m_index < m_view->transcript().count(); }
    QObject *object() const override { return nullptr; }
    QWindow *window() const override { return m_view ? m_view->window()->windowHandle() : nullptr; }
    QAccessibleInterface *parent() const override { return QAccessible::queryAccessibleInterface(m_view); }
    QAccessibleInterface *child(int) const override { return nullptr; }
    QAccessibleInterface *childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface *) const override { return -1; }
    void setText(QAccessible::Text, const QString &) override {}
    QAccessible::Role role() const override { return QAccessible::ListItem; }

    QString text(QAccessible::Text kind) const override
    {
        if (!isValid())
            return {};
        const models::ChatMessage &message = m_view->transcript().at(m_index);
        const bool isUser = message.role == models::ChatRole::User;
        const QString who
            = isUser ? QCoreApplication::translate("ui::MessageAccessible", "You") : message.model;
        if (kind == QAccessible::Name)
            return QCoreApplication::translate("ui::MessageAccessible", "Message %1, %2: %3")
                .arg(m_index + 1)
                .arg(who, message.content.left(longestText));
        if (kind == QAccessible::Description && !isUser)
            return toText(footerOf(message));
        return {};
    }

    QRect rect() const override
    {
        if (!isValid())
            return {};
        const QRect inside = m_view->messageRect(m_index);
        return {m_view->viewport()->mapToGlobal(inside.topLeft()), inside.size()};
    }

    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.selectable = true;
        state.readOnly = true;
        state.invalid = !isValid();
        state.offscreen = isValid() && !m_view->messageRect(m_index).intersects(m_view->viewport()->rect());
        state.focused = isValid() && m_view->hasFocus() && m_view->currentMessage() == m_index;
        return state;
    }

    void *interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface *>(this)
                                                    : nullptr;
    }

    QStringList actionNames() const override
    {
        QStringList names;
        if (isValid())
            for (const MessageControl &control : m_view->layoutOf(m_index).controls())
                names += control.name;
        return names;
    }
    QString localizedActionName(const QString &name) const override { return name; }
    QStringList keyBindingsForAction(const QString &) const override { return {}; }
    void doAction(const QString &name) override
    {
        if (!isValid())
            return;
        const QVector<MessageControl> controls = m_view->layoutOf(m_index).controls();
        for (const MessageControl &control : controls)
            if (control.name == name) {
                m_view->activate(m_index, control);
                return;
            }
    }

private:
    QPointer<TranscriptView> m_view;
    int m_index;
};

class TranscriptAccessible : public QAccessibleWidget
{
public:
    explicit TranscriptAccessible(TranscriptView *view)
        : QAccessibleWidget(view, QAccessible::List), m_view(view)
    {
    }
    ~TranscriptAccessible() override
    {
        for (const QAccessible::Id id : qAsConst(m_ids))
            QAccessible::deleteAccessibleInterface(id);
    }

    int childCount() const override { return m_view->transcript().count(); }
    QAccessibleInterface *child(int index) const override
    {
        if (index < 0 || index >= childCount())
            return nullptr;
        auto known = m_ids.constFind(index);
        if (known == m_ids.constEnd())
            known = m_ids.insert(
                index, QAccessible::registerAccessibleInterface(new MessageAccessible(m_view, index)));
        return QAccessible::accessibleInterface(*known);
    }
    int indexOfChild(const QAccessibleInterface *child) const override
    {
        return m_ids.key(QAccessible::uniqueId(const_cast<QAccessibleInterface *>(child)), -1);
    }
    QAccessibleInterface *childAt(int x, int y) const override
    {
        for (int i = 0; i < childCount(); ++i)
            if (QAccessibleInterface *message = child(i); message->rect().contains(x, y))
                return message;
        return nullptr;
    }
    QAccessibleInterface *focusChild() const override { return child(m_view->currentMessage()); }

private:
    TranscriptView *m_view;
    mutable QHash<int, QAccessible::Id> m_ids;
};

QAccessibleInterface *makeInterface(const QString &className, QObject *object)
{
    if (className == QLatin1String("ui::TranscriptView"))
        return new TranscriptAccessible(static_cast<TranscriptView *>(object));
    return nullptr;
}

} // namespace

void installTranscriptAccessibility()
{
    static const bool isInstalled = [] {
        QAccessible::installFactory(makeInterface);
        return true;
    }();
    Q_UNUSED(isInstalled);
}

} // namespace ui
