#include "cluster/local/runtimes/ray/imagine_replicas.h"

#include "cluster/httpd/http_listener.h"
#include "cluster/local/runtimes/ray/fast_api.h"
#include "cluster/local/runtimes/ray/imagine_batches.h"
#include "cluster/local/runtimes/ray/relay.h"

#include <boost/asio/io_context.hpp>
#include <charconv>

namespace cluster::local {

using nlohmann::json;

namespace {

class ImagineIngress final : public HostedReplica
{
public:
    ImagineIngress(boost::asio::io_context &io, const ServeReplicaSpec &spec)
        : m_io(io), m_id(spec.id), m_takesSize(spec.arguments.value("takes_size", false))
    {
    }

    Status open(const std::string &address, const HostedHandlers &handlers)
    {
        auto listener
            = openReplica(m_io, address, handlers, [this](const auto &exchange) { handle(exchange); });
        if (!listener)
            return tl::unexpected(listener.error());
        m_listener = std::move(*listener);
        return {};
    }

    void setPeers(const std::vector<ServeTarget> &targets) override { m_models->setTargets(targets); }

    void addTraffic(ServeTraffic &traffic) const override
    {
        traffic.served[m_id] = m_served;
        m_models->addOngoing(traffic.ongoing);
    }

private:
    void handle(const std::shared_ptr<ServerExchange> &exchange)
    {
        const ServerRequest &request = exchange->request();
        ++m_served;
        if (request.path != "/imagine") {
            exchange->reply(fastApiNotFound());
            return;
        }
        if (request.method != "GET") {
            exchange->reply(fastApiWrongMethod("GET"));
            return;
        }
        const auto asked = readImagineRequest(request, m_takesSize);
        if (!asked) {
            exchange->reply(asked.error());
            return;
        }
        RelayOptions options;
        options.target
            = "/generate?prompt=" + urlEncoded(asked->prompt) + "&size=" + std::to_string(asked->size);
        m_models->acquire(
            "", [exchange] { return !exchange->isClosed(); },
            [&io = m_io, exchange, options](std::shared_ptr<TargetLease> lease) {
                relay(io, exchange, std::move(lease), options);
            });
    }

    boost::asio::io_context &m_io;
    std::string m_id;
    bool m_takesSize;
    std::uint64_t m_served = 0;
    std::shared_ptr<TargetPool> m_models = std::make_shared<TargetPool>();
    std::unique_ptr<HttpListener> m_listener;
};

std::chrono::milliseconds secondsFrom(const json &arguments, const char *name)
{
    return std::chrono::milliseconds(static_cast<long>(arguments.value(name, 0.0) * 1000));
}

class ImagineModel final : public HostedReplica
{
public:
    ImagineModel(boost::asio::io_context &io, const ServeReplicaSpec &spec)
        : m_io(io), m_id(spec.id),
          m_batches(io,
                    {std::max<std::size_t>(1, spec.arguments.value("batch", std::size_t{1})),
                     secondsFrom(spec.arguments, "batch_wait_seconds"),
                     secondsFrom(spec.arguments, "seconds")})
    {
    }

    Status open(const std::string &address, const HostedHandlers &handlers)
    {
        auto listener
            = openReplica(m_io, address, handlers, [this](const auto &exchange) { handle(exchange); });
        if (!listener)
            return tl::unexpected(listener.error());
        m_listener = std::move(*listener);
        return {};
    }

    void addTraffic(ServeTraffic &traffic) const override { traffic.served[m_id] = m_served; }

private:
    void handle(const std::shared_ptr<ServerExchange> &exchange)
    {
        const auto prompt = exchange->request().queryValue("prompt");
        const auto size = exchange->request().queryValue("size");
        int pixels = 0;
        if (size)
            std::from_chars(size->data(), size->data() + size->size(), pixels);
        if (!prompt || pixels < 64 || pixels > 1024) {
            exchange->reply(fastApiServerError());
            return;
        }
        ++m_served;
        m_batches.add(exchange, *prompt, pixels);
    }

    boost::asio::io_context &m_io;
    std::string m_id;
    std::uint64_t m_served = 0;
    ImagineBatches m_batches;
    std::unique_ptr<HttpListener> m_listener;
};

template<typename Replica>
Result<std::unique_ptr<HostedReplica>> opened(boost::asio::io_context &io, const std::string &address,
                                              const ServeReplicaSpec &spec, const HostedHandlers &handlers)
{
    try { // of arguments with a wrong type
        auto replica = std::make_unique<Replica>(io, spec);
        if (auto open = replica->open(address, handlers); !open)
            return tl::unexpected(open.error());
        return std::unique_ptr<HostedReplica>(std::move(replica));
    } catch (const json::exception &error) {
        return fail(ErrorCode::InvalidArgument, std::string("arguments of /imagine: ") + error.what());
    }
}

} // namespace

tl::expected<ImagineRequest, ServerResponse> readImagineRequest(const ServerRequest &request, bool takesSize)
{
    ImagineRequest asked;
    const auto prompt = request.queryValue("prompt");
    if (!prompt)
        return tl::unexpected(fastApiInvalidQuery("prompt", "missing", "Field required", nullptr));
    asked.prompt = *prompt;
    const auto size = takesSize ? request.queryValue("img_size") : std::nullopt;
    if (size) {
        const auto end = std::from_chars(size->data(), size->data() + size->size(), asked.size);
        if (end.ec != std::errc() || end.ptr != size->data() + size->size())
            return tl::unexpected(fastApiInvalidQuery(
                "img_size", "int_parsing",
                "Input should be a valid integer, unable to parse string as an integer", *size));
        // Our own limits: the tutorial's app takes what its memory holds.
        constexpr int least = 64, most = 1024;
        if (asked.size < least)
            return tl::unexpected(fastApiInvalidQuery("img_size", "greater_than_equal",
                                                      "Input should be greater than or equal to 64", *size,
                                                      {{"ge", least}}));
        if (asked.size > most)
            return tl::unexpected(fastApiInvalidQuery("img_size", "less_than_equal",
                                                      "Input should be less than or equal to 1024", *size,
                                                      {{"le", most}}));
    }
    // The app asserts a prompt, and diffusers a multiple of 8: both end as a server error.
    if (asked.prompt.empty() || asked.size % 8 != 0)
        return tl::unexpected(fastApiServerError());
    return asked;
}

Result<std::unique_ptr<HostedReplica>> imagineIngress(boost::asio::io_context &io, const std::string &address,
                                                      const ServeReplicaSpec &spec, HostedHandlers handlers)
{
    return opened<ImagineIngress>(io, address, spec, handlers);
}

Result<std::unique_ptr<HostedReplica>> imagineModel(boost::asio::io_context &io, const std::string &address,
                                                    const ServeReplicaSpec &spec, HostedHandlers handlers)
{
    return opened<ImagineModel>(io, address, spec, handlers);
}

} // namespace cluster::local
