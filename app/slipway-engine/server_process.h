#pragma once

#include "engine/commandline/serve_options.h"
#include <memory>
#include <string>

/// The parts of a server put together: runner and its supervisor, group of workers, metrics, HTTP; from start
/// to end.
class ServerProcess
{
public:
    struct Outcome
    {
        int exitCode = 0;
        std::string message; ///< For stderr; empty after a clean end.
    };

    /// The options as checked against the model; `build` is what workers must be of.
    ServerProcess(engine::ServeOptions options, std::string build);
    ~ServerProcess();
    ServerProcess(const ServerProcess &) = delete;
    ServerProcess &operator=(const ServerProcess &) = delete;

    Outcome run(); ///< Until SIGINT, SIGTERM, or a failure that restarting the runner can't mend.

private:
    struct State;
    std::unique_ptr<State> m_state;
};
