#pragma once

#include "cluster/local/nodeagent/launched_process.h"
#include "cluster/local/nodeagent/pod_access.h"
#include "cluster/local/nodeagent/time_text.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cluster::local {

struct LogLimits
{
    std::uint64_t fileBytes = 10U << 20;
    int files = 5; ///< the one written to included
};

/// The log of one run of a container, in CRI's format ("TIME stdout F text"; P: the line goes on), in files
/// that are turned over at a size: 0.log, then 0.log.1 (older), … Threads: one.
class ContainerLog
{
public:
    /// `file` is made when something is written.
    explicit ContainerLog(std::filesystem::path file, LogLimits limits = {});
    ~ContainerLog();
    ContainerLog(const ContainerLog &) = delete;
    ContainerLog &operator=(const ContainerLog &) = delete;

    void append(OutputStream stream, std::string_view text, Time now);
    void close(); ///< the run has ended: readers come to an end

    [[nodiscard]] bool isClosed() const { return m_isClosed; }
    [[nodiscard]] const std::filesystem::path &file() const { return m_file; }
    [[nodiscard]] std::uint64_t turns() const { return m_turns; } ///< how often it was turned over
    [[nodiscard]] const LogLimits &limits() const { return m_limits; }

    /// `*wake` is called once, at the next change, if somebody else still holds it then.
    void addWaiter(const std::shared_ptr<std::function<void()>> &wake);

private:
    void write(OutputStream stream, char tag, std::string_view text, Time now);
    void turnOver();
    void wakeAll();

    std::filesystem::path m_file;
    LogLimits m_limits;
    int m_handle = -1;
    std::uint64_t m_size = 0, m_turns = 0;
    bool m_isClosed = false;
    std::string m_pending[2]; ///< unfinished lines, by stream
    std::string m_block; ///< lines on their way to the file
    std::vector<std::weak_ptr<std::function<void()>>> m_waiters;
};

/// Of a run that may be going on.
std::unique_ptr<LogReader> readLog(std::shared_ptr<ContainerLog> log, const LogOptions &options);

/// The last bytes of text of a log, for termination messages: kubelet's 80 lines and 2 KiB at most.
std::string logTail(ContainerLog &log);

} // namespace cluster::local
