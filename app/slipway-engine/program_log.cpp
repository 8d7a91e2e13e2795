#include "program_log.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <string_view>
#include <unistd.h>

namespace {

/// Writes to stderr without ever waiting: a full pipe that nobody reads must not stop the server. False if
/// some of it did not fit.
bool writeNow(std::string_view text)
{
    constexpr std::size_t piece = 4096; // PIPE_BUF: what a writable pipe takes without blocking
    while (!text.empty()) {
        pollfd where{STDERR_FILENO, POLLOUT, 0};
        if (::poll(&where, 1, 0) != 1 || (where.revents & POLLOUT) == 0)
            return false;
        const ssize_t count = ::write(STDERR_FILENO, text.data(), std::min(text.size(), piece));
        if (count < 0 && errno != EINTR)
            return false; // closed, or a full disk: there is nobody to tell
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return true;
}

/// Drops lines that can't be written now, and says how many when it can write again.
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex>
{
protected:
    void sink_it_(const spdlog::details::log_msg &message) override
    {
        if (m_dropped > 0
            && writeNow("(" + std::to_string(m_dropped) + " lines were lost: nobody read this log)\n"))
            m_dropped = 0;
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        if (m_dropped > 0 || !writeNow({line.data(), line.size()}))
            ++m_dropped;
    }
    void flush_() override {}

private:
    std::size_t m_dropped = 0;
};

/// Level names in capitals.
class LevelFlag final : public spdlog::custom_flag_formatter
{
public:
    void format(const spdlog::details::log_msg &message, const std::tm & /*time*/,
                spdlog::memory_buf_t &target) override
    {
        std::string_view name = "INFO";
        if (message.level == spdlog::level::debug)
            name = "DEBUG";
        else if (message.level == spdlog::level::warn)
            name = "WARNING";
        else if (message.level >= spdlog::level::err)
            name = "ERROR";
        target.append(name.data(), name.data() + name.size());
    }

    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override
    {
        return std::make_unique<LevelFlag>();
    }
};

} // namespace

void startLog(const std::string &level)
{
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelFlag>('*').set_pattern("%* %m-%d %H:%M:%S %v");
    const auto log = std::make_shared<spdlog::logger>("slipway-engine", std::make_shared<StderrSink>());
    log->set_formatter(std::move(formatter));
    log->set_level(spdlog::level::from_str(level == "warning" ? "warn" : level));
    spdlog::set_default_logger(log);
}

void printError(const std::string &command, const std::string &text)
{
    writeNow(command + ": error: " + text + "\n");
}
