#include "engine/runner/runner_service.h"

#include "engine/runner/request_sampler.h"
#include "engine/runtime/grammar_compiler.h"
#include <cstdio>
#include <cstdlib>

namespace engine {

using cluster::ErrorCode;
using cluster::fail;

namespace {

using Value = decltype(CallReply::value);
using SharedSampler
    = std::shared_ptr<cluster::Result<std::unique_ptr<Sampler>>>; // std::function wants copies

constexpr int exitRuined = 3;

template<typename T>
Value valueOf(cluster::Result<T> result)
{
    return result ? Value(std::move(*result)) : Value(std::move(result.error()));
}

/// What the pieces of the text are is told with each prompt.
Prompt withPieces(const LanguageModel &model, Prompt prompt)
{
    prompt.pieces.reserve(prompt.tokens.size());
    for (const TokenId token : prompt.tokens)
        prompt.pieces.push_back(model.vocabulary().piece(token));
    return prompt;
}

/// The value of a call. On any thread.
struct Replies
{
    const LanguageModel &model;
    const ChatTemplate &chat;

    cluster::Result<Prompt> operator()(const ChatPromptRequest &request) const
    {
        return chat.render(request).map(
            [this](Prompt prompt) { return withPieces(model, std::move(prompt)); });
    }
    cluster::Result<Prompt> operator()(const TextPromptRequest &request) const
    {
        Prompt prompt;
        prompt.text = request.text;
        prompt.tokens
            = model.vocabulary().tokenize(request.text, request.addSpecialTokens, request.parseSpecialTokens);
        return withPieces(model, std::move(prompt));
    }
    cluster::Result<std::string> operator()(const DetokenizeRequest &request) const
    {
        return model.vocabulary().detokenize(request.tokens);
    }
    cluster::Result<std::string> operator()(const GrammarRequest &request) const
    {
        return compileGrammar(request, model.vocabulary());
    }
    cluster::Result<std::vector<float>> operator()(const EmbeddingRequest & /*unused*/) const
    {
        return fail(ErrorCode::FailedPrecondition,
                    "this model generates text and has no pooling layer: load an embedding model");
    }
};

std::string tooLong(const CallPoolOptions &options)
{
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.limit).count();
    return "the text, template or grammar of this request takes too long: it was given up after "
        + std::to_string(seconds) + " s; make it smaller or simpler";
}

CallPool::MakeTemplate templatesOf(const LanguageModel &model)
{
    // That it can be read was seen before anything was served.
    return [&model] { return std::move(ChatTemplate::create(model).value()); };
}

[[noreturn]] void endRuined()
{
    std::fputs("too many templates or grammars of requests never end\n", stderr);
    std::_Exit(exitRuined); // the front starts another runner
}

} // namespace

void RunnerService::Preparing::add(RequestId id)
{
    const std::lock_guard lock(m_mutex);
    m_ids.insert(id);
}

bool RunnerService::Preparing::remove(RequestId id)
{
    const std::lock_guard lock(m_mutex);
    return m_ids.erase(id) > 0;
}

RunnerService::RunnerService(const LanguageModel &model, DecodeLoop &loop, Outbox &outbox, std::int64_t seed,
                             CallPoolOptions pool)
    : m_model(model), m_loop(loop), m_outbox(outbox), m_seed(seed),
      m_pool(pool, templatesOf(model), endRuined)
{
}

bool RunnerService::handle(FrontMessage message)
{
    if (auto *request = std::get_if<GenerateRequest>(&message)) {
        generate(std::move(*request));
    } else if (const auto *cancelled = std::get_if<CancelRequest>(&message)) {
        if (!m_preparing.remove(cancelled->id))
            m_loop.cancel(cancelled->id);
    } else if (auto *call = std::get_if<Call>(&message)) {
        answer(std::move(*call));
    }
    return !std::holds_alternative<Shutdown>(message);
}

void RunnerService::generate(GenerateRequest request)
{
    if (!m_loop.generates()) {
        m_outbox.add(RequestFailure{request.id, "invalid_argument", "this model gives embeddings only"});
        return;
    }
    if (!request.sampling.grammar.empty() || !request.sampling.badWords.empty()) {
        prepare(std::move(request));
        return;
    }
    if (auto sampler = makeSampler(request, m_model.vocabulary(), m_seed))
        m_loop.submit(std::move(request), std::move(*sampler));
    else
        m_outbox.add(RequestFailure{request.id, "invalid_argument", sampler.error().message});
}

void RunnerService::prepare(GenerateRequest request)
{
    const RequestId id = request.id;
    m_preparing.add(id);
    m_pool.run(
        [this, request = std::move(request)](const ChatTemplate * /*chat*/) mutable -> CallPool::Delivery {
            auto sampler = std::make_shared<cluster::Result<std::unique_ptr<Sampler>>>(
                makeSampler(request, m_model.vocabulary(), m_seed));
            return [this, sampler = SharedSampler(sampler), request = std::move(request)]() mutable {
                if (!m_preparing.remove(request.id))
                    return;
                if (*sampler)
                    m_loop.submit(std::move(request), std::move(**sampler));
                else
                    m_outbox.add(RequestFailure{request.id, "invalid_argument", sampler->error().message});
            };
        },
        [this, id, options = m_pool.options()] {
            if (m_preparing.remove(id))
                m_outbox.add(RequestFailure{id, "invalid_argument", tooLong(options)});
        });
}

void RunnerService::answer(Call call)
{
    if (auto *embedding = std::get_if<EmbeddingRequest>(&call.request); embedding && !m_loop.generates()) {
        m_loop.embed(call.call, std::move(*embedding));
        return;
    }
    const CallId number = call.call;
    m_pool.run(
        [this, call = std::move(call)](const ChatTemplate *chat) -> CallPool::Delivery {
            auto value = std::visit(
                [&](const auto &request) {
                    return valueOf(Replies{m_model, *chat}(request));
                },
                call.request);
            return [this, number = call.call, value = std::move(value)]() mutable {
                m_outbox.add(CallReply{number, std::move(value)});
            };
        },
        [this, number, options = m_pool.options()] {
            m_outbox.add(CallReply{number, cluster::Error{ErrorCode::InvalidArgument, tooLong(options)}});
        });
}

} // namespace engine
