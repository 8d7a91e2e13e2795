#pragma once

#include "cluster/local/nodeagent/pod_access.h"

#include <functional>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

// What sessions of commands and of attached clients share.
namespace cluster::local {

inline void closeFile(int &file)
{
    if (file >= 0)
        ::close(file);
    file = -1;
}

inline void setTerminalSize(int terminal, std::uint16_t columns, std::uint16_t rows)
{
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    if (terminal >= 0)
        ::ioctl(terminal, TIOCSWINSZ, &size);
}

/// The end of a process, told as soon as there is somebody to tell.
class EndNotice
{
public:
    void set(ProcessEnd end)
    {
        m_end = std::move(end);
        deliver();
    }
    void whenSet(std::function<void(ProcessEnd)> handler)
    {
        m_handler = std::move(handler);
        deliver();
    }

private:
    void deliver()
    {
        if (!m_end || !m_handler)
            return;
        const auto handler = std::exchange(m_handler, nullptr);
        handler(*m_end);
    }
    std::optional<ProcessEnd> m_end;
    std::function<void(ProcessEnd)> m_handler;
};

} // namespace cluster::local
