#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace engine {

/// The end of what a process printed, to say why it died. Lines, at most 64 of at most 500 bytes.
class LastWords
{
public:
    void add(std::string_view line);

    /// The line that names the cause (a failed assertion, an uncaught exception, a sanitizer's report), else
    /// the last one that says anything; empty if nothing was printed.
    [[nodiscard]] std::string cause() const;

private:
    std::deque<std::string> m_lines;
};

/// "signal 9 (Killed)", "exit code 3" from waitpid's status.
[[nodiscard]] std::string describeExit(int waitStatus);

} // namespace engine
