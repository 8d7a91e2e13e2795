#include "cluster/local/nodeagent/container_log.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cluster::local {

namespace {

constexpr std::size_t timeSize = 30; ///< of nanosecondsText

/// One entry of a log file, without its newline.
struct LogEntry
{
    std::string_view time, stream, text;
    bool isPartial = false;
};

std::optional<LogEntry> parseEntry(std::string_view line)
{
    // TIME SP stdout|stderr SP F|P SP text
    if (line.size() < timeSize + 10 || line[timeSize] != ' ' || line[timeSize + 7] != ' '
        || line[timeSize + 9] != ' ')
        return std::nullopt;
    return LogEntry{line.substr(0, timeSize), line.substr(timeSize + 1, 6), line.substr(timeSize + 10),
                    line[timeSize + 8] == 'P'};
}

class FileLogReader final : public LogReader
{
public:
    FileLogReader(std::shared_ptr<ContainerLog> log, const LogOptions &options)
        : m_log(std::move(log)), m_options(options)
    {
        if (options.since)
            m_since = nanosecondsText(*options.since);
        if (options.limitBytes)
            m_left = std::max<std::int64_t>(0, *options.limitBytes);
        m_turn = oldestTurn();
        if (options.tailLines)
            seekTail(std::max<std::int64_t>(0, *options.tailLines));
        else
            open(0);
    }

    ~FileLogReader() override { close(); }
    FileLogReader(const FileLogReader &) = delete;
    FileLogReader &operator=(const FileLogReader &) = delete;

    Result<std::string> read(std::size_t maxBytes) override
    {
        std::string result;
        while (!m_atEnd && result.size() < maxBytes) {
            if (!fill()) {
                m_atEnd = !m_options.follow || m_log->isClosed();
                break;
            }
            takeLines(result);
        }
        return result;
    }

    [[nodiscard]] bool atEnd() const override { return m_atEnd; }

    void whenMore(std::function<void()> wake) override
    {
        m_wake.reset();
        if (m_atEnd || m_log->isClosed() || hasMore()) {
            wake();
            return;
        }
        m_wake = std::make_shared<std::function<void()>>(std::move(wake));
        m_log->addWaiter(m_wake);
    }

private:
    [[nodiscard]] std::int64_t newestTurn() const { return static_cast<std::int64_t>(m_log->turns()); }

    [[nodiscard]] std::string fileOf(std::int64_t turn) const
    {
        const std::int64_t age = newestTurn() - turn;
        return age == 0 ? m_log->file().string() : m_log->file().string() + "." + std::to_string(age);
    }

    [[nodiscard]] std::int64_t oldestTurn() const
    {
        std::int64_t turn = newestTurn();
        while (newestTurn() - turn + 1 < m_log->limits().files
               && ::access(fileOf(turn - 1).c_str(), R_OK) == 0)
            --turn;
        return turn;
    }

    void close()
    {
        if (m_handle >= 0)
            ::close(m_handle);
        m_handle = -1;
    }

    void open(off_t offset)
    {
        close();
        m_handle = ::open(fileOf(m_turn).c_str(), O_RDONLY | O_CLOEXEC);
        if (m_handle >= 0 && offset > 0)
            ::lseek(m_handle, offset, SEEK_SET);
    }

    [[nodiscard]] bool hasMore() const
    {
        struct stat status
        {
        };
        if (m_turn < newestTurn())
            return true;
        if (m_handle < 0)
            return ::access(fileOf(m_turn).c_str(), R_OK) == 0;
        return ::fstat(m_handle, &status) == 0 && status.st_size > ::lseek(m_handle, 0, SEEK_CUR);
    }

    /// Reads a piece of the file, or of the next one. False: nothing there.
    bool fill()
    {
        char buffer[32768];
        for (;;) {
            if (m_handle < 0)
                open(0);
            const ssize_t size = m_handle < 0 ? 0 : ::read(m_handle, buffer, sizeof buffer);
            if (size > 0) {
                m_text.append(buffer, static_cast<std::size_t>(size));
                return true;
            }
            if (m_turn >= newestTurn())
                return false;
            // Turned over since: files that have fallen off the end meanwhile are skipped.
            m_turn = std::max(m_turn + 1, oldestTurn());
            m_text.clear();
            close();
        }
    }

    void takeLines(std::string &result)
    {
        std::size_t at = 0;
        for (std::size_t end = m_text.find('\n'); end != std::string::npos && m_left != 0;
             end = m_text.find('\n', at)) {
            if (const auto entry = parseEntry(std::string_view(m_text).substr(at, end - at)))
                addEntry(*entry, result);
            at = end + 1;
        }
        m_text.erase(0, at);
        m_atEnd = m_atEnd || m_left == 0;
    }

    void addEntry(const LogEntry &entry, std::string &result)
    {
        if (!m_since.empty() && entry.time < m_since)
            return;
        if ((m_options.stream == "Stdout" && entry.stream != "stdout")
            || (m_options.stream == "Stderr" && entry.stream != "stderr"))
            return;
        std::string text;
        if (m_options.timestamps && !m_isInLine)
            text.append(entry.time).append(1, ' ');
        text.append(entry.text);
        if (!entry.isPartial)
            text += '\n';
        m_isInLine = entry.isPartial;
        if (m_left > 0) {
            text.resize(std::min(text.size(), static_cast<std::size_t>(m_left)));
            m_left -= static_cast<std::int64_t>(text.size());
        }
        result += text;
    }

    /// Stands before the last `lines` entries of all files.
    void seekTail(std::int64_t lines)
    {
        const std::int64_t oldest = m_turn;
        for (m_turn = newestTurn(); m_turn >= oldest; --m_turn) {
            open(0);
            const off_t offset = m_handle < 0 ? 0 : tailOffset(lines);
            if (lines == 0 || m_turn == oldest) {
                open(offset);
                return;
            }
        }
    }

    /// Where the last `lines` entries of the open file begin; takes those that it has from `lines`.
    off_t tailOffset(std::int64_t &lines)
    {
        struct stat status
        {
        };
        ::fstat(m_handle, &status);
        off_t end = status.st_size;
        if (lines == 0)
            return end;
        char buffer[32768];
        bool isFirst = true; // the newline at the very end ends an entry, it doesn't begin one
        while (end > 0) {
            const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(sizeof buffer));
            const ssize_t size = ::pread(m_handle, buffer, static_cast<std::size_t>(end - begin), begin);
            for (ssize_t i = size; i-- > 0;) {
                if (buffer[i] != '\n')
                    continue;
                if (isFirst)
                    isFirst = false;
                else if (--lines == 0)
                    return begin + i + 1;
            }
            end = begin;
        }
        if (status.st_size > 0)
            --lines;
        return 0;
    }

    std::shared_ptr<ContainerLog> m_log;
    LogOptions m_options;
    std::string m_since;
    std::int64_t m_left = -1; ///< of limitBytes; -1: no limit
    std::int64_t m_turn = 0;
    int m_handle = -1;
    std::string m_text; ///< read, but not a whole entry yet
    bool m_isInLine = false;
    bool m_atEnd = false;
    std::shared_ptr<std::function<void()>> m_wake;
};

} // namespace

std::unique_ptr<LogReader> readLog(std::shared_ptr<ContainerLog> log, const LogOptions &options)
{
    return std::make_unique<FileLogReader>(std::move(log), options);
}

std::string logTail(ContainerLog &log)
{
    LogOptions options;
    options.tailLines = 80;
    // The log lives longer than this reader: a pointer that doesn't own it will do.
    FileLogReader reader(std::shared_ptr<ContainerLog>(&log, [](ContainerLog *) {}), options);
    const auto text = reader.read(std::size_t{1} << 20);
    if (!text)
        return {};
    constexpr std::size_t longest = 2048;
    return text->size() > longest ? text->substr(text->size() - longest) : *text;
}

} // namespace cluster::local
