#include "engine/runner/outbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace engine {

Outbox::Outbox() : m_wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Outbox::~Outbox()
{
    if (m_wake >= 0)
        ::close(m_wake);
}

void Outbox::add(RunnerMessage message)
{
    const std::lock_guard lock(m_mutex);
    m_messages.push_back(std::move(message));
    if (m_messages.size() > 1)
        return; // the reader has been woken and has not come yet
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(m_wake, &one, sizeof one);
}

std::vector<RunnerMessage> Outbox::take()
{
    const std::lock_guard lock(m_mutex);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(m_wake, &count, sizeof count);
    return std::exchange(m_messages, {});
}

} // namespace engine
