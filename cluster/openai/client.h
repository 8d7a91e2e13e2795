#pragma once

#include "cluster/net/http_client.h"
#include "cluster/openai/answer.h"
#include "cluster/openai/requests.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cluster {

struct OpenAiEndpoint
{
    std::string baseUrl; ///< with or without /v1 at its end
    std::string apiKey; ///< empty: no Authorization header. Never in a message, a log or an export
};

struct ModelCard
{
    std::string id;
    std::string root; ///< vLLM: what is really loaded
    std::string parent; ///< of an adapter: its base model
    std::string ownedBy;
    std::optional<std::int64_t> maxModelLength; ///< tokens
};

struct CallOptions
{
    CancelToken cancel;
    Deadline deadline;
    std::chrono::milliseconds connectTimeout{10000};
    std::chrono::milliseconds idleTimeout{0}; ///< zero: a silent server is waited for until cancelled
    /// Further tries, only before the first byte of an answer: after 429 or 503 with Retry-After, and for
    /// reading calls (models) also after Unavailable.
    int retries = 0;
    std::chrono::milliseconds longestRetryWait{10000}; ///< a longer Retry-After is not waited for
};

/// All called on the calling thread, while the call runs. Each may be empty.
struct StreamHandlers
{
    std::function<void(const HttpResponse &)> onHeaders;
    std::function<void(std::string_view)> onRaw; ///< the answer's bytes as they came, for an inspector
    std::function<void(const AnswerChunk &)> onChunk;
};

/// How a generation ended. `answer` is what had arrived, whole or not; only `status` says whether it is
/// whole.
struct [[nodiscard]] AnswerOutcome
{
    Answer answer;
    Status status;
    int httpStatus = 0; ///< 0 where no answer came
};

struct EmbeddingsAnswer
{
    std::string model;
    std::vector<std::vector<float>> vectors; ///< in the order of the inputs
    std::optional<TokenUsage> usage;
};

/// A client of OpenAI-like servers: vLLM old and new, Ray Serve LLM, llama-server, our own. Shapes are
/// recognised as they come, never by a version. Blocks, like HttpClient; threads may share one client.
///
/// Errors of all calls: those of HttpClient and of toError(); DataLoss for an answer that is garbled or cut,
/// above all a stream that ends with neither [DONE] nor a finish reason for each choice.
class OpenAiClient
{
public:
    using NowFunction = std::function<std::chrono::steady_clock::time_point()>;

    OpenAiClient(HttpClient &http, OpenAiEndpoint endpoint);
    OpenAiClient(HttpClient &http, OpenAiEndpoint endpoint, NowFunction now);

    [[nodiscard]] const OpenAiEndpoint &endpoint() const { return m_endpoint; }

    Result<std::vector<ModelCard>> models(const CallOptions &options = {});
    AnswerOutcome chat(const ChatRequest &request, const StreamHandlers &handlers = {},
                       const CallOptions &options = {});
    AnswerOutcome complete(const CompletionRequest &request, const StreamHandlers &handlers = {},
                           const CallOptions &options = {});
    Result<EmbeddingsAnswer> embeddings(const EmbeddingsRequest &request, const CallOptions &options = {});

private:
    AnswerOutcome generate(const std::string &path, std::string body, const StreamHandlers &handlers,
                           const CallOptions &options);
    HttpRequest request(std::string method, const std::string &path, std::string body) const;
    Result<HttpResponse> exchange(const HttpRequest &request, const CallOptions &options, bool isReading);

    HttpClient &m_http;
    OpenAiEndpoint m_endpoint;
    NowFunction m_now;
};

} // namespace cluster
