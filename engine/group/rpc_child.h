#pragma once

#include "cluster/base/result.h"
#include "engine/supervisor/spawn.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace engine {

/// A ggml RPC server in a process of its own, listening on a loopback port. Ends with its owner.
class RpcChild
{
public:
    using Log = std::function<void(std::string_view line)>;

    [[nodiscard]] static cluster::Result<std::unique_ptr<RpcChild>>
    start(boost::asio::io_context &context, const ChildProgram &program, Log log);
    ~RpcChild(); ///< Kills it.
    RpcChild(const RpcChild &) = delete;
    RpcChild &operator=(const RpcChild &) = delete;

    [[nodiscard]] int pid() const;
    /// Empty while it runs; else "died (signal 9 (Killed))" or "is stopped".
    [[nodiscard]] std::string trouble() const;

private:
    struct State;
    std::shared_ptr<State> m_state;

    explicit RpcChild(std::shared_ptr<State> state);
};

/// A loopback TCP port that was free a moment ago. Errors: Unavailable.
[[nodiscard]] cluster::Result<std::uint16_t> freeLoopbackPort();

} // namespace engine
