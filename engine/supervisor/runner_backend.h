#pragma once

#include "engine/protocol/backend.h"
#include "engine/supervisor/spawn.h"
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace engine {

/// What a runner needs around it before it can start, e.g. a group of workers on other hosts.
class RunnerSurroundings
{
public:
    virtual ~RunnerSurroundings() = default;

    using Prepared = std::function<void(cluster::Result<RunnerOptions>)>;

    /// Before each start. Answers once, later, with the options to start the runner with; an error counts
    /// like a runner that died while loading.
    virtual void prepare(RunnerOptions options, Prepared prepared) = 0;

    /// After each end of a runner, also where prepare failed.
    virtual void release() = 0;
};

struct SupervisorOptions
{
    ChildProgram program; ///< The runner; gets OMP_WAIT_POLICY=passive and GGML_NO_BACKTRACE=1 as well.
    RunnerOptions runner;
    RunnerSurroundings *surroundings = nullptr; ///< Optional; must outlive the backend.

    /// Requests are running, but for so long no token and no step: the runner is killed.
    std::chrono::milliseconds stepDeadline{120'000};
    /// While loading nothing was heard for so long: the runner is killed.
    std::chrono::milliseconds loadDeadline{300'000};
    /// From asking for a clean end to killing.
    std::chrono::milliseconds stopDeadline{5'000};

    std::chrono::milliseconds firstBackoff{200}; ///< Doubled with each death...
    std::chrono::milliseconds maxBackoff{10'000}; ///< ...up to this...
    std::chrono::milliseconds longLife{
        10'000}; ///< ...and forgotten when a runner has been ready for this long.
    /// So many deaths in a row before it was ever ready, and the state is Failed.
    int maxLoadDeaths = 3;

    std::function<void(std::string_view)> log; ///< A line of the runner's or about it. Optional.
};

/// An engine in a process of its own, started again when it dies. See Backend for threads and errors.
/// Once ready, it is restarted for ever (a host out of memory may recover), unless the runner itself says
/// that a restart can't help: that, and too many deaths before it was ever ready, end in Failed.
class RunnerBackend final : public Backend
{
public:
    RunnerBackend(boost::asio::io_context &context, SupervisorOptions options);
    ~RunnerBackend() override; ///< Kills the runner; handlers are dropped. Not from within a callback.
    RunnerBackend(const RunnerBackend &) = delete;
    RunnerBackend &operator=(const RunnerBackend &) = delete;

    /// Called at each change of the state, from the io_context. Set it before start.
    void onState(std::function<void(BackendState)> handler);
    /// Progress of loading, 0 to 1.
    void onProgress(std::function<void(double)> handler);

    void start();
    /// Fails what is in flight, ends the runner cleanly (by force after the deadline), then Stopped and
    /// `done`.
    void stop(std::function<void()> done);
    /// Something that the runner depends on is lost: kills it, so that all in flight ends, and starts over.
    void loseRunner(const std::string &reason);

    [[nodiscard]] int runnerPid() const; ///< -1 while there is none.
    [[nodiscard]] int restartCount() const; ///< Runners started after the first.

    [[nodiscard]] BackendState state() const override;
    [[nodiscard]] std::string stateMessage() const override;
    /// Why the state is Failed; the code tells a bad model from an exhausted host.
    [[nodiscard]] cluster::ErrorCode failureCode() const;
    [[nodiscard]] const ModelFacts &facts() const override;
    [[nodiscard]] RunnerStats stats() const override;

    void generate(GenerateRequest request, GenerationHandler handler) override;
    void cancel(RequestId id) override;
    void renderChat(ChatPromptRequest request, Reply<Prompt> reply) override;
    void tokenize(TextPromptRequest request, Reply<Prompt> reply) override;
    void detokenize(std::vector<TokenId> tokens, Reply<std::string> reply) override;
    void compileGrammar(GrammarRequest request, Reply<std::string> reply) override;
    void embed(EmbeddingRequest request, Reply<std::vector<float>> reply) override;
    void onStats(std::function<void(const RunnerStats &)> handler) override;

private:
    struct State;
    std::shared_ptr<State> m_state;
};

} // namespace engine
