#pragma once

#include <QStringList>
#include <cstdint>

/// "127.0.0.1:443" or "[...]:443" for each TCP socket on which the process accepts connections, from /proc.
QStringList listeningSockets(std::int64_t pid);
