#include "app/slipwayctl/interrupts.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace slipwayctl {

namespace {

constexpr int interruptedStatus = 130;
constexpr char endOfWatch = 'E';

// A signal handler reaches nothing else than these.
std::array<int, 2> signalPipe{};
std::atomic<int> interruptCount = 0;
std::atomic<bool> hasTerm = false;
static_assert(std::atomic<int>::is_always_lock_free);

void onSignal(int number)
{
    const int saved = errno;
    if (number == SIGTERM)
        hasTerm = true;
    if (++interruptCount > 1)
        ::_exit(interruptedStatus);
    const char byte = 'S';
    [[maybe_unused]] const ssize_t count = ::write(signalPipe[1], &byte, 1);
    errno = saved;
}

} // namespace

Interrupts::Interrupts()
{
    if (::pipe2(signalPipe.data(), O_CLOEXEC) != 0)
        return; // then the signals keep their usual effect
    m_watcher = std::thread([this] { watch(); });
    struct sigaction action = {};
    action.sa_handler = &onSignal; // without SA_RESTART: a prompt that waits for a line is left
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    // A reader that goes away (| head) is seen at the next write.
    std::signal(SIGPIPE, SIG_IGN);
}

Interrupts::~Interrupts()
{
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    if (!m_watcher.joinable())
        return;
    [[maybe_unused]] const ssize_t count = ::write(signalPipe[1], &endOfWatch, 1);
    m_watcher.join();
}

void Interrupts::watch()
{
    char byte = 0;
    while (::read(signalPipe[0], &byte, 1) == 1 && byte != endOfWatch) {
        cluster::CancelSource source;
        {
            const std::lock_guard lock(m_mutex);
            source = m_source;
        }
        source.request_stop();
    }
}

cluster::CancelToken Interrupts::begin()
{
    const std::lock_guard lock(m_mutex);
    m_source = cluster::CancelSource();
    if (hasTerm)
        m_source.request_stop();
    else
        interruptCount = 0;
    return m_source.get_token();
}

bool Interrupts::happened() const
{
    return interruptCount > 0;
}

bool Interrupts::mustEnd() const
{
    return hasTerm;
}

} // namespace slipwayctl
