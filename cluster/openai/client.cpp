#include "cluster/openai/client.h"

#include "cluster/openai/request_text.h"
#include "cluster/openai/stream_reader.h"

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace cluster {

namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;

HttpOptions httpOptions(const CallOptions &options)
{
    HttpOptions http;
    http.cancel = options.cancel;
    http.deadline = options.deadline;
    http.connectTimeout = options.connectTimeout;
    http.idleTimeout = options.idleTimeout;
    return http;
}

/// Retry-After in seconds. Its other form, a date, is not waited for: clocks differ.
std::optional<milliseconds> retryAfter(const HttpResponse &response)
{
    const auto text = response.header("retry-after");
    int seconds = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc())
        return std::nullopt;
    return std::chrono::seconds(std::max(0, seconds));
}

std::optional<milliseconds> retryWait(const HttpResponse &response, const CallOptions &options)
{
    if (response.status != 429 && response.status != 503)
        return std::nullopt;
    const auto wait = retryAfter(response);
    return wait && *wait <= options.longestRetryWait ? wait : std::nullopt;
}

/// False when cancelled meanwhile.
bool waitFor(milliseconds wait, const CallOptions &options)
{
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    const auto limit = std::min<std::chrono::steady_clock::duration>(wait, options.deadline.remaining());
    never.wait_for(lock, options.cancel, limit, [] { return false; });
    return !options.cancel.stop_requested();
}

std::string stringAt(const Json &object, const char *key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ModelCard modelCard(const Json &json)
{
    ModelCard card;
    card.id = stringAt(json, "id");
    card.root = stringAt(json, "root");
    card.parent = stringAt(json, "parent");
    card.ownedBy = stringAt(json, "owned_by");
    if (const auto length = json.find("max_model_len"); length != json.end() && length->is_number_integer())
        card.maxModelLength = length->get<std::int64_t>();
    // Ray Serve LLM has it here.
    const auto metadata = json.find("metadata");
    if (!card.maxModelLength && metadata != json.end() && metadata->is_object()) {
        const auto length = metadata->find("max_request_context_length");
        if (length != metadata->end() && length->is_number_integer())
            card.maxModelLength = length->get<std::int64_t>();
    }
    return card;
}

/// The JSON object of a successful answer.
Result<Json> objectOf(const HttpResponse &response, const std::string &where, const char *listKey)
{
    if (response.status < 200 || response.status >= 300)
        return tl::unexpected(toError(parseErrorBody(response.status, response.body), where));
    Json json = Json::parse(response.body, nullptr, false);
    const bool isObject = json.is_object();
    // Old vLLM tells of some failures with status 200.
    if (isObject && (stringAt(json, "object") == "error" || json.contains("error")))
        return tl::unexpected(toError(parseErrorBody(0, response.body), where));
    const auto list = isObject ? json.find(listKey) : json.end();
    if (!isObject || list == json.end() || !list->is_array())
        return fail(ErrorCode::DataLoss,
                    where + " answered something else than an OpenAI-like server does: check the address");
    return json;
}

} // namespace

OpenAiClient::OpenAiClient(HttpClient &http, OpenAiEndpoint endpoint)
    : OpenAiClient(http, std::move(endpoint), [] { return std::chrono::steady_clock::now(); })
{
}

OpenAiClient::OpenAiClient(HttpClient &http, OpenAiEndpoint endpoint, NowFunction now)
    : m_http(http), m_endpoint(std::move(endpoint)), m_now(std::move(now))
{
}

HttpRequest OpenAiClient::request(std::string method, const std::string &path, std::string body) const
{
    HttpRequest request;
    request.method = std::move(method);
    request.url = openAiUrl(m_endpoint.baseUrl, path);
    if (!body.empty())
        request.headers.push_back({"Content-Type", "application/json"});
    if (!m_endpoint.apiKey.empty())
        request.headers.push_back({"Authorization", "Bearer " + m_endpoint.apiKey});
    request.body = std::move(body);
    return request;
}

Result<HttpResponse> OpenAiClient::exchange(const HttpRequest &request, const CallOptions &options,
                                            bool isReading)
{
    constexpr milliseconds pauseAfterFailure{200};
    for (int tries = 0;; ++tries) {
        Result<HttpResponse> response = m_http.send(request, httpOptions(options));
        if (tries >= options.retries)
            return response;
        std::optional<milliseconds> wait;
        if (response)
            wait = retryWait(*response, options);
        else if (isReading && response.error().code == ErrorCode::Unavailable)
            wait = pauseAfterFailure;
        if (!wait || !waitFor(*wait, options))
            return response;
    }
}

Result<std::vector<ModelCard>> OpenAiClient::models(const CallOptions &options)
{
    const HttpRequest call = request("GET", "/models", {});
    const Result<HttpResponse> response = exchange(call, options, true);
    if (!response)
        return tl::unexpected(response.error());
    const Result<Json> json = objectOf(*response, hostOfUrl(call.url), "data");
    if (!json)
        return tl::unexpected(json.error());
    std::vector<ModelCard> cards;
    for (const Json &item : json->at("data")) {
        if (item.is_object())
            cards.push_back(modelCard(item));
    }
    return cards;
}

AnswerOutcome OpenAiClient::chat(const ChatRequest &chatRequest, const StreamHandlers &handlers,
                                 const CallOptions &options)
{
    Result<std::string> body = bodyText(chatRequest);
    if (!body)
        return {{}, tl::unexpected(body.error()), 0};
    return generate("/chat/completions", std::move(*body), handlers, options);
}

AnswerOutcome OpenAiClient::complete(const CompletionRequest &completionRequest,
                                     const StreamHandlers &handlers, const CallOptions &options)
{
    Result<std::string> body = bodyText(completionRequest);
    if (!body)
        return {{}, tl::unexpected(body.error()), 0};
    return generate("/completions", std::move(*body), handlers, options);
}

AnswerOutcome OpenAiClient::generate(const std::string &path, std::string body,
                                     const StreamHandlers &handlers, const CallOptions &options)
{
    const HttpRequest call = request("POST", path, std::move(body));
    for (int tries = 0;; ++tries) {
        StreamReader reader(hostOfUrl(call.url), m_now(), handlers);
        AnswerOutcome outcome;
        std::optional<milliseconds> wait;
        const HeadersHandler onHeaders = [&](const HttpResponse &response) -> Result<Reading> {
            outcome.httpStatus = response.status;
            if (tries < options.retries)
                wait = retryWait(response, options);
            if (wait)
                return Reading::Stop;
            reader.begin(response.status, response.header("content-type").value_or(""));
            if (handlers.onHeaders)
                handlers.onHeaders(response);
            return Reading::Continue;
        };
        const DataHandler onData = [&](std::string_view bytes) { return reader.take(bytes, m_now()); };
        const Result<HttpResponse> response = m_http.stream(call, onHeaders, onData, httpOptions(options));
        if (wait && response && waitFor(*wait, options))
            continue;
        if (wait && response)
            outcome.status = fail(ErrorCode::Cancelled, "stopped while waiting to try again");
        else if (response)
            outcome.status = reader.finish(m_now());
        else
            outcome.status = tl::unexpected(response.error());
        // An answer that is whole stays so, even if its connection breaks at the very end.
        if (!outcome.status && outcome.status.error().code == ErrorCode::DataLoss && reader.isWhole())
            outcome.status = {};
        outcome.answer = reader.close(m_now());
        return outcome;
    }
}

Result<EmbeddingsAnswer> OpenAiClient::embeddings(const EmbeddingsRequest &embeddingsRequest,
                                                  const CallOptions &options)
{
    Result<std::string> body = bodyText(embeddingsRequest);
    if (!body)
        return tl::unexpected(body.error());
    const HttpRequest call = request("POST", "/embeddings", std::move(*body));
    const Result<HttpResponse> response = exchange(call, options, false);
    if (!response)
        return tl::unexpected(response.error());
    const std::string where = hostOfUrl(call.url);
    const Result<Json> json = objectOf(*response, where, "data");
    if (!json)
        return tl::unexpected(json.error());
    EmbeddingsAnswer answer;
    answer.model = stringAt(*json, "model");
    try {
        answer.vectors.resize(embeddingsRequest.inputs.size());
        for (const Json &item : json->at("data"))
            answer.vectors.at(item.at("index").get<std::size_t>())
                = item.at("embedding").get<std::vector<float>>();
        if (const auto usage = json->find("usage"); usage != json->end() && usage->is_object()) {
            TokenUsage counts;
            counts.promptTokens = usage->value("prompt_tokens", std::int64_t{0});
            counts.totalTokens = usage->value("total_tokens", counts.promptTokens);
            answer.usage = counts;
        }
    } catch (const std::exception &exception) {
        return fail(ErrorCode::DataLoss, where + " sent embeddings that can't be read: " + exception.what());
    }
    return answer;
}

} // namespace cluster
