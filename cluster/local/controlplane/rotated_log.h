#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cluster::local {

/// What a program prints, in a file of bounded size: at `maxBytes` it becomes FILE.1, and the FILE.1 before
/// goes. Mode 0600. A disk that is full costs lines, never an error: the program must not wait for its log.
class RotatedLog
{
public:
    RotatedLog(std::filesystem::path file, std::uint64_t maxBytes);
    ~RotatedLog();
    RotatedLog(const RotatedLog &) = delete;
    RotatedLog &operator=(const RotatedLog &) = delete;

    void write(std::string_view bytes);

    /// The end of what was written in this run, at most 4 KiB: says why a program ended.
    [[nodiscard]] const std::string &tail() const { return m_tail; }
    [[nodiscard]] const std::filesystem::path &file() const { return m_file; }

private:
    void open();

    std::filesystem::path m_file;
    std::uint64_t m_maxBytes;
    std::uint64_t m_bytes = 0;
    std::string m_tail;
    int m_handle = -1;
};

/// The last line of `tail` that names a cause, else its last line; at most 400 bytes.
std::string lastWords(std::string_view tail);

} // namespace cluster::local
