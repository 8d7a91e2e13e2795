#pragma once

#include "models/chat/conversation.h"
#include <QObject>

namespace models {

/// The branch of the conversation that is shown, as the transcript view sees it.
class Transcript : public QObject
{
    Q_OBJECT

public:
    explicit Transcript(QObject *parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const QVector<ChatMessage> &messages() const { return m_messages; }
    [[nodiscard]] int count() const { return static_cast<int>(m_messages.size()); }
    [[nodiscard]] const ChatMessage &at(int index) const { return m_messages.at(index); }
    /// Index of the message with this id; -1 if it is not on this branch.
    [[nodiscard]] int indexOf(qint64 id) const;

    void setMessages(QVector<ChatMessage> messages);
    void append(const ChatMessage &message);
    void truncate(int count); ///< Forgets the messages from `count` on.
    void grow(const QString &content, const QString &reasoning); ///< The last message gets longer.
    void replace(int index, const ChatMessage &message);

signals:
    void reset();
    void appended(int index);
    void truncated(int count);
    void grew(int index); ///< Only text was added at its end.
    void changed(int index);

private:
    QVector<ChatMessage> m_messages;
};

} // namespace models
