#include "cluster/local/runtimes/ray/relay.h"

#include <algorithm>
#include <array>
#include <strings.h>
#include <utility>

namespace cluster::local {

namespace {

bool isSame(const std::string &a, const std::string &b)
{
    return ::strcasecmp(a.c_str(), b.c_str()) == 0;
}

/// Headers of one connection, not of the message.
bool isOfConnection(const std::string &name)
{
    constexpr std::array names{"connection",
                               "keep-alive",
                               "transfer-encoding",
                               "te",
                               "trailer",
                               "upgrade",
                               "content-length",
                               "host",
                               "date",
                               "server",
                               "expect",
                               "proxy-connection"};
    return std::any_of(names.begin(), names.end(),
                       [&name](const char *one) { return ::strcasecmp(name.c_str(), one) == 0; });
}

HeaderFields passedOn(const HeaderFields &from, const HeaderFields &added)
{
    HeaderFields headers = added;
    for (const auto &field : from) {
        const bool isReplaced = std::any_of(
            added.begin(), added.end(), [&field](const auto &own) { return isSame(own.first, field.first); });
        if (!isReplaced && !isOfConnection(field.first))
            headers.push_back(field);
    }
    return headers;
}

class Relay : public std::enable_shared_from_this<Relay>
{
public:
    Relay(std::shared_ptr<ServerExchange> exchange, std::shared_ptr<TargetLease> lease, RelayOptions options)
        : m_exchange(std::move(exchange)), m_lease(std::move(lease)), m_options(std::move(options))
    {
    }

    void run(boost::asio::io_context &io)
    {
        const ServerRequest &request = m_exchange->request();
        const ServeTarget &to = m_lease->target();
        HttpCallRequest call{to.host,
                             to.port,
                             request.method,
                             m_options.target,
                             passedOn(request.headers, m_options.headers),
                             request.body};
        const auto self = shared_from_this();
        m_call = HttpCall::start(
            io, std::move(call),
            {[self](int status, const HeaderFields &headers) { self->onHead(status, headers); },
             [self](std::string_view piece) { return self->onData(piece); },
             [self](const std::string &error) { self->onEnd(error); }});
        m_exchange->onDrained([weak = weak_from_this()] {
            const auto relay = weak.lock();
            if (relay && relay->m_call)
                relay->m_call->resume();
        });
        m_exchange->onClosed([weak = weak_from_this()] {
            if (const auto relay = weak.lock())
                relay->finish(true);
        });
    }

private:
    void onHead(int status, const HeaderFields &headers)
    {
        m_status = status;
        m_isGathered = status >= 400 && m_options.onError;
        if (!m_isGathered)
            m_exchange->begin(status, passedOn(headers, m_options.answerHeaders));
    }

    bool onData(std::string_view piece)
    {
        constexpr std::size_t mostGathered = 1 << 20, mostBacklog = 256 * 1024;
        if (m_isGathered) {
            m_gathered.append(piece.substr(0, mostGathered - std::min(mostGathered, m_gathered.size())));
            return true;
        }
        m_exchange->write(std::string(piece));
        return m_exchange->backlog() < mostBacklog;
    }

    void onEnd(const std::string &error)
    {
        if (m_isGathered && error.empty()) {
            ServerResponse response = m_options.onError(m_status, m_gathered);
            response.headers = passedOn(response.headers, m_options.answerHeaders);
            m_exchange->reply(std::move(response));
        } else if (m_status == 0 || m_isGathered) {
            m_status = 500;
            ServerResponse response{
                500, {{"Content-Type", "text/plain; charset=utf-8"}}, "Internal Server Error"};
            response.headers = passedOn(response.headers, m_options.answerHeaders);
            m_exchange->reply(std::move(response));
        } else if (error.empty()) {
            m_exchange->end();
        } else {
            m_exchange->cut();
        }
        finish(false);
    }

    void finish(bool isCancelled)
    {
        if (isCancelled && m_call)
            m_call->cancel();
        m_call.reset();
        m_lease.reset();
        if (const auto onDone = std::exchange(m_options.onDone, nullptr))
            onDone(m_status);
    }

    std::shared_ptr<ServerExchange> m_exchange;
    std::shared_ptr<TargetLease> m_lease;
    RelayOptions m_options;
    std::shared_ptr<HttpCall> m_call;
    int m_status = 0;
    bool m_isGathered = false;
    std::string m_gathered;
};

} // namespace

void relay(boost::asio::io_context &io, const std::shared_ptr<ServerExchange> &exchange,
           std::shared_ptr<TargetLease> lease, RelayOptions options)
{
    std::make_shared<Relay>(exchange, std::move(lease), std::move(options))->run(io);
}

std::string targetBelow(const ServerRequest &request, const std::string &prefix)
{
    std::string target = request.target;
    if (prefix.size() > 1 && target.starts_with(prefix))
        target.erase(0, prefix.size());
    return target.starts_with('/') ? target : "/" + target;
}

} // namespace cluster::local
