#pragma once

#include "cluster/base/result.h"
#include "engine/serving/server_options.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace engine {

class Backend;

/// Names that --reasoning-parser and --tool-call-parser take (no parser: the empty name).
[[nodiscard]] const std::vector<std::string> &knownReasoningParsers();
[[nodiscard]] const std::vector<std::string> &knownToolCallParsers();

/// The HTTP side of `slipway-engine serve`: vLLM's routes over a Backend.
///
/// Threads: everything on the thread that runs the io_context, also listen() and stop(). The backend and the
/// metrics
///          must outlive the io_context's last handler.
/// Source:  vLLM 0.8.5 and 0.32.0, recorded in tests/data/observed-vllm.
class HttpFrontend
{
public:
    /// The backend must be Ready: which routes there are depends on the model (embedding models have no
    /// chat).
    HttpFrontend(boost::asio::io_context &io, const ServerOptions &options, Backend &backend,
                 ServerMetrics &metrics);
    ~HttpFrontend();
    HttpFrontend(const HttpFrontend &) = delete;
    HttpFrontend &operator=(const HttpFrontend &) = delete;

    /// Errors: NotFound for a host without an address, AlreadyExists for a port in use, else Unavailable; one
    /// line.
    [[nodiscard]] cluster::Status listen();
    [[nodiscard]] std::uint16_t port() const;

    /// No new connections; requests in flight have ServerOptions::shutdownTimeout to end and are cancelled
    /// then.
    void stop(std::function<void()> stopped = {});

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace engine
