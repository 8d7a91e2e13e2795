#include "cluster/local/runtimes/ray/engine_replica.h"

#include "cluster/local/runtimes/ray/child_process.h"
#include "cluster/local/runtimes/ray/http_call.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <utility>

namespace cluster::local {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// A port that nobody has right now; the engine binds it a moment later.
Result<unsigned short> freePort(asio::io_context &io, const std::string &address)
{
    error_code error;
    asio::ip::tcp::acceptor acceptor(io);
    const auto ip = asio::ip::make_address(address, error);
    if (!error)
        acceptor.open(asio::ip::tcp::v4(), error);
    if (!error)
        acceptor.bind({ip, 0}, error);
    if (error)
        return fail(ErrorCode::Unavailable, "no port is free at " + address + ": " + error.message());
    return acceptor.local_endpoint().port();
}

class Engine final : public HostedReplica
{
public:
    Engine(asio::io_context &io, std::string address, unsigned short port, HostedHandlers handlers)
        : m_io(io), m_address(std::move(address)), m_port(port), m_handlers(std::move(handlers)), m_retry(io)
    {
    }
    ~Engine() override
    {
        *m_isAlive = false;
        if (m_ask)
            m_ask->cancel();
        if (m_child)
            m_child->terminate(); // it keeps itself until its end
    }
    Engine(const Engine &) = delete;
    Engine &operator=(const Engine &) = delete;

    /// \param readyWords  what it prints when it can be asked; empty: it is asked over HTTP
    Status start(const EngineProgram &engine, std::vector<std::string> words, std::string readyWords)
    {
        m_readyWords = std::move(readyWords);
        words.insert(words.begin(), engine.program);
        RayChildHandlers handlers;
        handlers.onOutput = [this, alive = m_isAlive](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stdout); // to the pod's log
            std::fflush(stdout);
            if (*alive)
                onOutput(text);
        };
        handlers.onEnd = [this, alive = m_isAlive](int code) {
            if (*alive)
                onEnd(code);
        };
        auto child = RayChild::start(m_io, std::move(words), engine.environment, std::move(handlers));
        if (!child)
            return tl::unexpected(child.error());
        m_child = *child;
        if (m_readyWords.empty())
            askLater();
        return {};
    }

private:
    void onOutput(std::string_view text)
    {
        constexpr std::size_t kept = 2000;
        m_output.append(text);
        m_output.erase(0, m_output.size() - std::min(kept, m_output.size()));
        if (!m_readyWords.empty() && m_output.find(m_readyWords) != std::string::npos)
            becomeReady();
    }

    void becomeReady()
    {
        if (const auto onReady = std::exchange(m_handlers.onReady, nullptr))
            onReady(m_port, m_child->pid());
    }

    void onEnd(int code)
    {
        m_retry.cancel();
        if (const auto onFailed = std::exchange(m_handlers.onFailed, nullptr))
            onFailed("slipway-engine ended with exit code " + std::to_string(code) + ":\n" + m_output);
    }

    void askLater()
    {
        m_retry.expires_after(std::chrono::milliseconds(300));
        m_retry.async_wait([this, alive = m_isAlive](error_code error) {
            if (!error && *alive)
                ask();
        });
    }

    void ask()
    {
        const auto status = std::make_shared<int>(0);
        m_ask = HttpCall::start(m_io, {m_address, m_port, "GET", "/health", {}, {}},
                                {[status](int answered, const HeaderFields &) { *status = answered; },
                                 {},
                                 [this, alive = m_isAlive, status](const std::string &) {
                                     if (!*alive)
                                         return;
                                     m_ask.reset();
                                     if (*status == 200)
                                         becomeReady();
                                     else
                                         askLater();
                                 }});
    }

    asio::io_context &m_io;
    std::string m_address;
    unsigned short m_port;
    HostedHandlers m_handlers;
    asio::steady_timer m_retry;
    std::string m_readyWords, m_output;
    std::shared_ptr<RayChild> m_child;
    std::shared_ptr<HttpCall> m_ask;
    std::shared_ptr<bool> m_isAlive = std::make_shared<bool>(true);
};

Result<std::unique_ptr<HostedReplica>> started(asio::io_context &io, const std::string &address,
                                               const EngineProgram &engine, HostedHandlers handlers,
                                               const std::function<std::vector<std::string>(int)> &words,
                                               const std::string &readyWords)
{
    if (engine.program.empty() || engine.model.empty())
        return fail(ErrorCode::FailedPrecondition,
                    "there is no model to answer with on this machine; get one with: slipwayctl models pull "
                    "smollm2");
    const auto port = freePort(io, address);
    if (!port)
        return tl::unexpected(port.error());
    auto replica = std::make_unique<Engine>(io, address, *port, std::move(handlers));
    if (auto running = replica->start(engine, words(*port), readyWords); !running)
        return tl::unexpected(running.error());
    return std::unique_ptr<HostedReplica>(std::move(replica));
}

} // namespace

Result<std::unique_ptr<HostedReplica>> engineServer(asio::io_context &io, const std::string &address,
                                                    const EngineProgram &engine, const ServeReplicaSpec &spec,
                                                    HostedHandlers handlers)
{
    const nlohmann::json &arguments = spec.arguments;
    std::vector<std::string> workers;
    for (const auto &worker : arguments.value("workers", nlohmann::json::array())) {
        if (worker.is_string())
            workers.push_back(worker.get<std::string>());
    }
    const auto model = arguments.find("model_id");
    if (model == arguments.end() || !model->is_string())
        return fail(ErrorCode::InvalidArgument, "a language model's replica has no model_id");
    const auto words = [&](int port) {
        std::vector<std::string> made{"serve",
                                      engine.model,
                                      "--host",
                                      address,
                                      "--port",
                                      std::to_string(port),
                                      "--served-model-name",
                                      model->get<std::string>()};
        if (!workers.empty())
            made.emplace_back("--rpc-worker");
        made.insert(made.end(), workers.begin(), workers.end());
        return made;
    };
    return started(io, address, engine, std::move(handlers), words, "");
}

Result<std::unique_ptr<HostedReplica>> engineShard(asio::io_context &io, const std::string &address,
                                                   const EngineProgram &engine, HostedHandlers handlers)
{
    const auto words = [&](int port) {
        return std::vector<std::string>{"worker", "--listen", address + ":" + std::to_string(port)};
    };
    return started(io, address, engine, std::move(handlers), words, " listens on ");
}

} // namespace cluster::local
