#include "cluster/local/metadataserver/peer_user.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>

namespace cluster::local {

namespace {

/// "0100007F:0050 0200007F:C350": addresses as they lie in memory, ports as numbers.
std::string endsText(const ConnectionEnds &ends)
{
    char text[40];
    std::snprintf(text, sizeof text, "%08X:%04X %08X:%04X", htonl(ends.local), ends.localPort,
                  htonl(ends.remote), ends.remotePort);
    return text;
}

} // namespace

std::optional<unsigned> userOfSocket(std::string_view table, const ConnectionEnds &ends)
{
    const std::size_t found = table.find(endsText(ends));
    if (found == std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = table.substr(found);
    std::istringstream line{std::string(rest.substr(0, rest.find('\n')))};
    // Both ends, state, queues, timer, retransmissions, user.
    std::string skipped;
    unsigned user = 0;
    for (int i = 0; i < 6; ++i)
        line >> skipped;
    if (!(line >> user))
        return std::nullopt;
    return user;
}

std::optional<unsigned> userOfSocket(const ConnectionEnds &ends)
{
    std::ifstream file("/proc/net/tcp");
    std::stringstream text;
    text << file.rdbuf();
    return userOfSocket(text.str(), ends);
}

} // namespace cluster::local
