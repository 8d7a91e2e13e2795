#pragma once

#include "app/slipwayctl/command_line.h"
#include "app/slipwayctl/local_engine.h"
#include "cluster/openai/client.h"

#include <memory>
#include <optional>
#include <string>

namespace slipwayctl {

struct SessionOptions
{
    std::string baseUrl; ///< empty: the local engine is started
    std::string model; ///< empty: the first that the server has; locally the default chat model
    std::string apiKeyFile;
};

/// Adds --base-url, --model and --api-key-file.
void addSessionOptions(CLI::App &command, SessionOptions &options);

/// A server to ask, with what it takes to have one: a key, the name of a model, and possibly an engine of our
/// own.
class Session
{
public:
    enum class Need { Chat, Completion };

    /// Errors: those of the store, the engine and the server; FailedPrecondition for a chat with a base
    /// model.
    static cluster::Result<std::unique_ptr<Session>> open(CommandContext &context,
                                                          const SessionOptions &options, Need need);

    cluster::OpenAiClient &client() { return *m_client; }
    [[nodiscard]] const std::string &model() const { return m_model; }

private:
    cluster::Status startEngine(CommandContext &context, const std::string &model, Need need);
    cluster::Status askForModel(const cluster::CancelToken &cancel);

    cluster::HttpClient m_http;
    std::optional<LocalEngine> m_engine;
    std::unique_ptr<cluster::OpenAiClient> m_client;
    std::string m_model;
};

} // namespace slipwayctl
