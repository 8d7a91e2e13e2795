#include "cluster/local/nodeagent/container_log.h"

#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t longestLine = 16384; ///< a longer one becomes several entries, as in containerd
} // namespace

ContainerLog::ContainerLog(fs::path file, LogLimits limits) : m_file(std::move(file)), m_limits(limits)
{
    // One that an earlier agent wrote may have been turned over.
    while (fs::exists(m_file.string() + "." + std::to_string(m_turns + 1)))
        ++m_turns;
}

ContainerLog::~ContainerLog()
{
    if (m_handle >= 0)
        ::close(m_handle);
}

void ContainerLog::append(OutputStream stream, std::string_view text, Time now)
{
    std::string &pending = m_pending[stream == OutputStream::Err ? 1 : 0];
    m_block.clear();
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::size_t room = longestLine - pending.size();
        if (end != std::string_view::npos && end <= room) {
            pending.append(text.substr(0, end));
            write(stream, 'F', pending, now);
            pending.clear();
            text.remove_prefix(end + 1);
        } else if (text.size() >= room) {
            pending.append(text.substr(0, room));
            write(stream, 'P', pending, now);
            pending.clear();
            text.remove_prefix(room);
        } else {
            pending.append(text);
            text = {};
        }
    }
    // A prompt or a progress bar has no end of line yet: shown at the end of the run only.
    if (m_block.empty())
        return;
    if (m_handle < 0) {
        std::error_code error;
        fs::create_directories(m_file.parent_path(), error);
        m_handle = ::open(m_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    const char *at = m_block.data();
    std::size_t left = m_block.size();
    while (m_handle >= 0 && left > 0) {
        const ssize_t size = ::write(m_handle, at, left);
        if (size <= 0)
            break; // disk full: the container goes on without its log
        at += size;
        left -= static_cast<std::size_t>(size);
    }
    m_size += m_block.size();
    if (m_size >= m_limits.fileBytes)
        turnOver();
    wakeAll();
}

void ContainerLog::write(OutputStream stream, char tag, std::string_view text, Time now)
{
    m_block += nanosecondsText(now);
    m_block += stream == OutputStream::Err ? " stderr " : " stdout ";
    m_block += tag;
    m_block += ' ';
    m_block += text;
    m_block += '\n';
}

void ContainerLog::turnOver()
{
    std::error_code error;
    const auto numbered
        = [this](int number) { return fs::path(m_file.string() + "." + std::to_string(number)); };
    for (int i = m_limits.files - 1; i > 1; --i)
        fs::rename(numbered(i - 1), numbered(i), error);
    fs::rename(m_file, m_limits.files > 1 ? numbered(1) : numbered(0), error);
    ::close(m_handle);
    m_handle = ::open(m_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    m_size = 0;
    ++m_turns;
}

void ContainerLog::close()
{
    if (m_isClosed)
        return;
    for (const OutputStream stream : {OutputStream::Out, OutputStream::Err}) {
        if (!m_pending[stream == OutputStream::Err ? 1 : 0].empty())
            append(stream, "\n", std::chrono::system_clock::now());
    }
    m_isClosed = true;
    if (m_handle >= 0)
        ::close(m_handle);
    m_handle = -1;
    wakeAll();
}

void ContainerLog::addWaiter(const std::shared_ptr<std::function<void()>> &wake)
{
    m_waiters.emplace_back(wake);
}

void ContainerLog::wakeAll()
{
    const auto waiters = std::exchange(m_waiters, {});
    for (const auto &waiter : waiters) {
        if (const auto wake = waiter.lock())
            (*wake)();
    }
}

} // namespace cluster::local
