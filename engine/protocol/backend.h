#pragma once

#include "cluster/base/result.h"
#include "engine/protocol/messages.h"
#include <functional>
#include <variant>

namespace engine {

enum class BackendState { Loading, Ready, Restarting, Failed, Stopped };

/// What the HTTP side needs of an engine. One implementation talks to a runner process; tests bring their
/// own.
///
/// Threads: all calls and all callbacks belong to the thread of the front's io_context. No callback is made
/// from
///          within the call that asked for it.
/// Errors:  a lost runner ends every request in flight with code "unavailable", never as finished.
class Backend
{
public:
    using GenerationHandler = std::function<void(const std::variant<GenerationEvent, RequestFailure> &)>;
    template<typename T>
    using Reply = std::function<void(cluster::Result<T>)>;

    virtual ~Backend() = default;

    [[nodiscard]] virtual BackendState state() const = 0;
    [[nodiscard]] virtual std::string stateMessage() const = 0; ///< Why it failed or restarts; one line.
    [[nodiscard]] virtual const ModelFacts &facts() const = 0; ///< Valid once the state has been Ready.
    [[nodiscard]] virtual RunnerStats stats() const = 0; ///< The newest the runner told; stepTokens is empty.

    /// Events until one has `finish`, or one RequestFailure. Cancelled requests get no further event.
    virtual void generate(GenerateRequest request, GenerationHandler handler) = 0;
    virtual void cancel(RequestId id) = 0; ///< Unknown ids are ignored. An embedding that waits fails then.

    virtual void renderChat(ChatPromptRequest request, Reply<Prompt> reply) = 0;
    virtual void tokenize(TextPromptRequest request, Reply<Prompt> reply) = 0;
    virtual void detokenize(std::vector<TokenId> tokens, Reply<std::string> reply) = 0;
    virtual void compileGrammar(GrammarRequest request, Reply<std::string> reply) = 0; ///< GBNF.
    virtual void embed(EmbeddingRequest request, Reply<std::vector<float>> reply)
        = 0; ///< Pooled, not normalised.

    /// Called for each statistics message of the runner, with its stepTokens.
    virtual void onStats(std::function<void(const RunnerStats &)> handler) = 0;
};

} // namespace engine
