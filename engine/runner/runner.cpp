#include "engine/runner/runner.h"

#include "engine/runner/decode_loop.h"
#include "engine/runner/frame_channel.h"
#include "engine/runner/request_sampler.h"
#include "engine/runtime/chat_template.h"
#include "engine/runtime/grammar_compiler.h"
#include "engine/runtime/library_log.h"
#include <csignal>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

namespace {

constexpr int exitFatal = 1;
constexpr int exitProtocol = 2;
constexpr double progressStep = 0.05;

/// What a loaded runner answers; its calls belong to the I/O thread.
class RunnerService
{
public:
    RunnerService(const LanguageModel &model, const ChatTemplate &chat, DecodeLoop &loop, Outbox &outbox,
                  std::int64_t seed)
        : m_model(model), m_chat(chat), m_loop(loop), m_outbox(outbox), m_seed(seed)
    {
    }

    /// False if the front asks to end.
    bool handle(FrontMessage message)
    {
        if (auto *request = std::get_if<GenerateRequest>(&message))
            generate(std::move(*request));
        else if (const auto *cancelled = std::get_if<CancelRequest>(&message))
            m_loop.cancel(cancelled->id);
        else if (auto *call = std::get_if<Call>(&message))
            answer(std::move(*call));
        return !std::holds_alternative<Shutdown>(message);
    }

private:
    using Value = decltype(CallReply::value);

    template<typename T>
    static Value valueOf(cluster::Result<T> result)
    {
        return result ? Value(std::move(*result)) : Value(std::move(result.error()));
    }

    void generate(GenerateRequest request)
    {
        if (!m_loop.generates()) {
            m_outbox.add(RequestFailure{request.id, "invalid_argument", "this model gives embeddings only"});
            return;
        }
        auto sampler = makeSampler(request, m_model.vocabulary(), m_seed);
        if (sampler)
            m_loop.submit(std::move(request), std::move(*sampler));
        else
            m_outbox.add(RequestFailure{request.id, "invalid_argument", sampler.error().message});
    }

    void answer(Call call)
    {
        if (auto *embedding = std::get_if<EmbeddingRequest>(&call.request);
            embedding && !m_loop.generates()) {
            m_loop.embed(call.call, std::move(*embedding));
            return;
        }
        Value value
            = std::visit([this](const auto &request) { return valueOf(reply(request)); }, call.request);
        m_outbox.add(CallReply{call.call, std::move(value)});
    }

    cluster::Result<Prompt> reply(const ChatPromptRequest &request)
    {
        return m_chat.render(request).map([this](Prompt prompt) { return withPieces(std::move(prompt)); });
    }
    cluster::Result<Prompt> reply(const TextPromptRequest &request)
    {
        Prompt prompt;
        prompt.text = request.text;
        prompt.tokens = m_model.vocabulary().tokenize(request.text, request.addSpecialTokens,
                                                      request.parseSpecialTokens);
        return withPieces(std::move(prompt));
    }
    cluster::Result<std::string> reply(const DetokenizeRequest &request)
    {
        return m_model.vocabulary().detokenize(request.tokens);
    }
    cluster::Result<std::string> reply(const GrammarRequest &request)
    {
        return compileGrammar(request, m_model.vocabulary());
    }
    static cluster::Result<std::vector<float>> reply(const EmbeddingRequest & /*unused*/)
    {
        return fail(ErrorCode::FailedPrecondition,
                    "this model generates text and has no pooling layer: load an embedding model");
    }

    [[nodiscard]] Prompt withPieces(Prompt prompt) const
    {
        prompt.pieces.reserve(prompt.tokens.size());
        for (const TokenId token : prompt.tokens)
            prompt.pieces.push_back(m_model.vocabulary().piece(token));
        return prompt;
    }

    const LanguageModel &m_model;
    const ChatTemplate &m_chat;
    DecodeLoop &m_loop;
    Outbox &m_outbox;
    std::int64_t m_seed;
};

cluster::Result<std::optional<FrontMessage>> firstMessage(FrameChannel &channel)
{
    while (true) {
        auto message = channel.next();
        if (!message || *message)
            return message;
        if (channel.wait(-1) == FrameChannel::Wake::Closed)
            return std::nullopt;
    }
}

enum class Outcome { Served, Ended, Broken };

Outcome handleAll(FrameChannel &channel, RunnerService &service)
{
    while (true) {
        auto message = channel.next();
        if (!message)
            return Outcome::Broken;
        if (!*message)
            return Outcome::Served;
        if (!service.handle(std::move(**message)))
            return Outcome::Ended;
    }
}

int serve(FrameChannel &channel, Outbox &outbox, RunnerService &service)
{
    while (true) {
        // Before any waiting: the front may have asked while the model was being loaded.
        if (const Outcome outcome = handleAll(channel, service); outcome != Outcome::Served)
            return outcome == Outcome::Ended ? 0 : exitProtocol;
        const FrameChannel::Wake wake = channel.wait(outbox.wakeDescriptor());
        if (wake == FrameChannel::Wake::Closed)
            return 0;
        if (wake == FrameChannel::Wake::Other && !channel.send(outbox.take()))
            return 0;
    }
}

int runLoaded(FrameChannel &channel, const RunnerOptions &options)
{
    double reported = 0;
    const auto progress = [&](double fraction) {
        if (fraction < reported + progressStep && fraction < 1)
            return;
        reported = fraction;
        channel.send(LoadProgress{fraction});
    };
    const auto fatal = [&](cluster::Error error) {
        channel.send(Fatal{std::move(error)});
        return exitFatal;
    };
    auto model = LanguageModel::load(options, progress);
    if (!model)
        return fatal(model.error());
    auto chat = ChatTemplate::create(**model);
    if (!chat)
        return fatal(chat.error());
    Outbox outbox;
    auto loop = DecodeLoop::start(**model, options, outbox);
    if (!loop)
        return fatal(loop.error());
    channel.send((*model)->facts());
    RunnerService service(**model, **chat, **loop, outbox, options.seed);
    return serve(channel, outbox, service);
}

} // namespace

int runRunner(int descriptor)
{
    std::signal(SIGPIPE, SIG_IGN);
    routeLibraryLog();
    FrameChannel channel(descriptor);
    auto first = firstMessage(channel);
    if (!first)
        return exitProtocol;
    if (!*first)
        return 0;
    const auto *options = std::get_if<RunnerOptions>(&**first);
    return options != nullptr ? runLoaded(channel, *options) : exitProtocol;
}

} // namespace engine
