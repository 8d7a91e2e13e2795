// Requests to the engine: the first line is the path, the rest its body. Read as the routes read them, but
// nothing is generated.

#include "engine/serving/chat_request.h"
#include "engine/serving/completion_request.h"
#include "engine/serving/field_reader.h"
#include "engine/serving/serving_context.h"
#include <cstdint>
#include <nlohmann/json.hpp>

using namespace engine;

namespace {

class NoBackend : public Backend
{
public:
    NoBackend()
    {
        m_facts.maxModelLen = 4096;
        m_facts.vocabularySize = 1000;
    }
    [[nodiscard]] BackendState state() const override { return BackendState::Ready; }
    [[nodiscard]] std::string stateMessage() const override { return {}; }
    [[nodiscard]] const ModelFacts &facts() const override { return m_facts; }
    [[nodiscard]] RunnerStats stats() const override { return {}; }
    void generate(GenerateRequest, GenerationHandler) override {}
    void cancel(RequestId) override {}
    void renderChat(ChatPromptRequest, Reply<Prompt>) override {}
    void tokenize(TextPromptRequest, Reply<Prompt>) override {}
    void detokenize(std::vector<TokenId>, Reply<std::string>) override {}
    void compileGrammar(GrammarRequest, Reply<std::string>) override {}
    void embed(EmbeddingRequest, Reply<std::vector<float>>) override {}
    void onStats(std::function<void(const RunnerStats &)>) override {}

private:
    ModelFacts m_facts;
};

ServerOptions optionsOf(ApiDialect dialect)
{
    ServerOptions options;
    options.dialect = dialect;
    options.servedModelNames = {"m"};
    options.version = "1";
    options.enableAutoToolChoice = true;
    options.toolCallParser = "hermes";
    options.reasoningParser = "qwen3";
    return options;
}

void read(ServingContext &context, const HttpRequest &request)
{
    const auto body = readJsonBody(context.dialect, request);
    if (!body)
        return;
    if (request.path.find("chat") != std::string::npos)
        (void)readChatRequest(context, *body);
    else
        (void)readCompletionRequest(context, *body);
    (void)context.baseId(request, {});
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    static NoBackend backend;
    static ServerMetrics metrics{ServerMetricsOptions{}};
    static ServingContext newest(optionsOf(ApiDialect::Newest), backend, metrics);
    static ServingContext old(optionsOf(ApiDialect::V085), backend, metrics);
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const auto end = std::min(text.find('\n'), text.size());
    HttpRequest request;
    request.method = "POST";
    request.path = text.substr(0, end);
    request.headers.emplace_back("content-type", "application/json");
    request.body = text.substr(std::min(end + 1, text.size()));
    read(newest, request);
    read(old, request);
    return 0;
}
