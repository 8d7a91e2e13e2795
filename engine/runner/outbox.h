#pragma once

#include "engine/protocol/codec.h"
#include <mutex>

namespace engine {

/// Messages on their way from the decode thread to the I/O thread, which turns them into bytes.
/// Threads: add() on any, take() on one.
class Outbox
{
public:
    Outbox();
    ~Outbox();
    Outbox(const Outbox &) = delete;
    Outbox &operator=(const Outbox &) = delete;

    void add(RunnerMessage message);
    [[nodiscard]] std::vector<RunnerMessage> take();
    [[nodiscard]] int wakeDescriptor() const { return m_wake; } ///< Readable while there are messages.

private:
    int m_wake;
    std::mutex m_mutex; // guards m_messages
    std::vector<RunnerMessage> m_messages;
};

} // namespace engine
