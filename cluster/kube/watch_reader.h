#pragma once

#include "cluster/kube/kube_client.h"

#include <string>
#include <string_view>

namespace cluster {

/// Cuts the stream of a watch, one JSON event a line, into events. The bytes may come in any pieces.
class WatchReader
{
public:
    /// \param version  where the watch begins
    /// \param doing    for messages: "watching pods at 127.0.0.1:6443"
    WatchReader(const WatchHandler &onEvent, std::string version, std::string doing)
        : m_onEvent(onEvent), m_version(std::move(version)), m_doing(std::move(doing))
    {
    }

    /// The newest resourceVersion seen.
    [[nodiscard]] const std::string &version() const { return m_version; }

    /// Errors: those of an ERROR event, DataLoss (no event), ResourceExhausted (a line without end), the
    /// handler's.
    Result<Reading> read(std::string_view bytes);

private:
    Result<Reading> takeLine();

    const WatchHandler &m_onEvent;
    std::string m_version;
    std::string m_doing;
    std::string m_line;
};

} // namespace cluster
