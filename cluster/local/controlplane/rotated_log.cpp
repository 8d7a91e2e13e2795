#include "cluster/local/controlplane/rotated_log.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace cluster::local {
namespace {

constexpr std::size_t maxTail = 4096;
constexpr std::size_t maxWords = 400;

/// How Go programs and klog mark what ended them, the surest first.
constexpr std::array<std::string_view, 7> causes{"panic: ", "fatal error: ",  "\"level\":\"fatal\"",
                                                 "Error: ", "Command failed", "\"level\":\"error\"",
                                                 "rror"};

std::vector<std::string_view> linesOf(std::string_view text)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0)
            lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// What etcd and KubeRay write as JSON, without the stack: "failed to commit tx: no space left on device".
std::string readable(std::string_view line)
{
    using nlohmann::json;
    const json entry = line.starts_with('{') ? json::parse(line, nullptr, false) : json();
    if (!entry.is_object() || !entry.contains("msg") || !entry["msg"].is_string())
        return std::string(line.substr(0, maxWords));
    std::string words = entry["msg"].get<std::string>();
    if (entry.contains("error") && entry["error"].is_string())
        words += ": " + entry["error"].get<std::string>();
    return words.substr(0, maxWords);
}

} // namespace

RotatedLog::RotatedLog(std::filesystem::path file, std::uint64_t maxBytes)
    : m_file(std::move(file)), m_maxBytes(maxBytes)
{
    open();
}

RotatedLog::~RotatedLog()
{
    if (m_handle >= 0)
        ::close(m_handle);
}

void RotatedLog::open()
{
    m_handle = ::open(m_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat status = {};
    m_bytes
        = m_handle >= 0 && ::fstat(m_handle, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void RotatedLog::write(std::string_view bytes)
{
    m_tail.append(bytes);
    if (m_tail.size() > maxTail)
        m_tail.erase(0, m_tail.size() - maxTail);
    if (m_bytes > 0 && m_bytes + bytes.size() > m_maxBytes) {
        if (m_handle >= 0)
            ::close(m_handle);
        ::rename(m_file.c_str(), (m_file.string() + ".1").c_str());
        open();
    }
    if (m_handle < 0)
        return;
    const ssize_t written = ::write(m_handle, bytes.data(), bytes.size());
    if (written > 0)
        m_bytes += static_cast<std::uint64_t>(written);
}

std::string lastWords(std::string_view tail)
{
    const auto lines = linesOf(tail);
    for (const std::string_view cause : causes) {
        for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
            if (line->find(cause) != std::string_view::npos)
                return readable(*line);
        }
    }
    return lines.empty() ? std::string() : readable(lines.back());
}

} // namespace cluster::local
