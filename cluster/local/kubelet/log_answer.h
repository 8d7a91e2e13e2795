#pragma once

#include "cluster/httpd/server_exchange.h"
#include "cluster/local/nodeagent/pod_access.h"
#include <memory>

namespace cluster::local {

/// Streams a container's log as the answer to an exchange, as fast as the client reads it. Keeps itself alive
/// until the log or the client has ended.
class LogAnswer : public std::enable_shared_from_this<LogAnswer>
{
public:
    static std::weak_ptr<LogAnswer> start(std::shared_ptr<ServerExchange> exchange,
                                          std::unique_ptr<LogReader> reader);
    void stop(); ///< Cuts the answer.

private:
    LogAnswer(std::shared_ptr<ServerExchange> exchange, std::unique_ptr<LogReader> reader);
    void next();

    std::shared_ptr<ServerExchange> m_exchange;
    std::unique_ptr<LogReader> m_reader; ///< Null when it is over.
    std::shared_ptr<LogAnswer> m_self;
};

} // namespace cluster::local
