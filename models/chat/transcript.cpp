#include "models/chat/transcript.h"

namespace models {

int Transcript::indexOf(qint64 id) const
{
    for (int i = count() - 1; i >= 0; --i)
        if (m_messages.at(i).id == id)
            return i;
    return -1;
}

void Transcript::setMessages(QVector<ChatMessage> messages)
{
    m_messages = std::move(messages);
    emit reset();
}

void Transcript::append(const ChatMessage &message)
{
    m_messages.append(message);
    emit appended(count() - 1);
}

void Transcript::truncate(int newCount)
{
    if (newCount >= count())
        return;
    m_messages.resize(newCount);
    emit truncated(newCount);
}

void Transcript::grow(const QString &content, const QString &reasoning)
{
    ChatMessage &last = m_messages.last();
    last.content += content;
    last.reasoning += reasoning;
    emit grew(count() - 1);
}

void Transcript::replace(int index, const ChatMessage &message)
{
    m_messages[index] = message;
    emit changed(index);
}

} // namespace models
