#include "engine/supervisor/last_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/wait.h>

namespace engine {
namespace {

constexpr std::size_t maxLines = 64;
constexpr std::size_t maxLineBytes = 500;

/// What programs print right before they die, the surest first.
constexpr std::array<std::string_view, 9> causes{"abort: ",
                                                 "GGML_ASSERT",
                                                 "ERROR: AddressSanitizer",
                                                 "WARNING: ThreadSanitizer",
                                                 "terminate called",
                                                 "what():",
                                                 "Assertion",
                                                 "GGML_ABORT",
                                                 "rror"};

} // namespace

void LastWords::add(std::string_view line)
{
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
        return;
    m_lines.emplace_back(line.substr(0, maxLineBytes));
    if (m_lines.size() > maxLines)
        m_lines.pop_front();
}

std::string LastWords::cause() const
{
    for (const auto sign : causes) {
        const auto found = std::find_if(m_lines.rbegin(), m_lines.rend(), [sign](const std::string &line) {
            return line.find(sign) != std::string::npos;
        });
        if (found != m_lines.rend())
            return *found;
    }
    return m_lines.empty() ? std::string() : m_lines.back();
}

std::string describeExit(int waitStatus)
{
    if (WIFSIGNALED(waitStatus)) {
        const int number = WTERMSIG(waitStatus);
        const char *name = ::strsignal(number);
        return "signal " + std::to_string(number) + (name != nullptr ? std::string(" (") + name + ")" : "");
    }
    return "exit code " + std::to_string(WEXITSTATUS(waitStatus));
}

} // namespace engine
