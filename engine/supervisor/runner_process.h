#pragma once

#include "cluster/base/result.h"
#include "engine/protocol/codec.h"
#include "engine/supervisor/spawn.h"
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace engine {

/// One life of one runner: its messages, its log lines and its end, on the io_context's thread.
/// Dropping it kills the child; no handler is called any more then.
class RunnerProcess
{
public:
    struct Handlers
    {
        std::function<void(RunnerMessage &&)> message;
        std::function<void(std::string_view)> logLine; ///< What the child printed, without the line break.
        /// Once, after the last message. The text says how it ended and its last words, on one line. `clean`:
        /// exit code 0.
        std::function<void(const std::string &how, bool clean)> ended;
    };

    [[nodiscard]] static cluster::Result<std::unique_ptr<RunnerProcess>>
    start(boost::asio::io_context &context, const ChildProgram &program, Handlers handlers);

    ~RunnerProcess();
    RunnerProcess(const RunnerProcess &) = delete;
    RunnerProcess &operator=(const RunnerProcess &) = delete;

    [[nodiscard]] int pid() const;

    /// Queued; a broken connection is not an error here but shows as the end of the process.
    [[nodiscard]] cluster::Status send(const FrontMessage &message);

    /// SIGKILL. The reason replaces "signal 9" in what `ended` is told.
    void kill(std::string reason);

private:
    struct State;
    std::shared_ptr<State> m_state;

    explicit RunnerProcess(std::shared_ptr<State> state);
};

} // namespace engine
