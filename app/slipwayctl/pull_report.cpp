#include "app/slipwayctl/pull_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace slipwayctl {

namespace {

constexpr std::chrono::milliseconds interval{200}; ///< Between two lines of JSON about the same thing.

std::string megabytes(std::uint64_t bytes)
{
    return std::to_string((bytes + 500000) / 1000000) + " MB";
}

} // namespace

PullReport::PullReport(const CommandContext &context)
    : m_isJson(context.wantsJson), m_isTerminal(::isatty(STDERR_FILENO) == 1)
{
}

PullReport::~PullReport()
{
    if (!m_isJson && m_isTerminal && !m_last.empty())
        std::fputs("\r\033[K", stderr);
}

void PullReport::show(const cluster::PullProgress &progress)
{
    if (m_isJson) {
        showJson(progress);
        return;
    }
    std::string text = progress.doing;
    if (m_isTerminal && progress.totalBytes > 0)
        text += "  " + megabytes(progress.doneBytes) + " of " + megabytes(progress.totalBytes);
    if (text == m_last)
        return;
    m_last = text;
    std::fprintf(stderr, m_isTerminal ? "\r\033[K%s" : "%s\n", text.c_str());
    std::fflush(stderr);
}

void PullReport::showJson(const cluster::PullProgress &progress)
{
    const auto now = std::chrono::steady_clock::now();
    const bool isLast = progress.totalBytes > 0 && progress.doneBytes == progress.totalBytes;
    if (progress.doing == m_last && now - m_lastTime < interval && !isLast)
        return;
    m_last = progress.doing;
    m_lastTime = now;
    const nlohmann::ordered_json line
        = {{"doing", progress.doing}, {"bytes", progress.doneBytes}, {"total", progress.totalBytes}};
    const std::string text
        = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

} // namespace slipwayctl
