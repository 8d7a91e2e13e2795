#include "engine/runner/decode_loop.h"

#include "engine/runtime/cpu_kernels.h"

namespace engine {

namespace {

constexpr Seconds statsInterval{0.1};

Seconds monotonicNow()
{
    return std::chrono::steady_clock::now().time_since_epoch();
}

} // namespace

cluster::Result<std::unique_ptr<DecodeLoop>> DecodeLoop::start(const LanguageModel &model,
                                                               const RunnerOptions &options, Outbox &outbox)
{
    std::unique_ptr<DecodeLoop> loop(new DecodeLoop(outbox));
    if (model.facts().isEmbeddingModel) {
        auto embedder = EmbeddingContext::create(model, options);
        if (!embedder)
            return tl::unexpected(embedder.error());
        loop->m_embedder = std::move(*embedder);
    } else {
        auto decoder = DecodeContext::create(model, options);
        if (!decoder)
            return tl::unexpected(decoder.error());
        loop->m_decoder = std::move(*decoder);
        SchedulerOptions scheduling;
        scheduling.maxNumSeqs = options.maxNumSeqs;
        scheduling.maxModelLen = model.facts().maxModelLen;
        scheduling.maxNumBatchedTokens = options.maxNumBatchedTokens;
        scheduling.prefixCaching = options.prefixCaching;
        if (model.facts().device == "CPU")
            scheduling.foreignCellCost = hiddenCellCost(model.facts());
        Scheduler::Listener &listener = *loop;
        loop->m_scheduler = std::make_unique<Scheduler>(*loop->m_decoder, model.vocabulary(), scheduling,
                                                        monotonicNow, listener);
    }
    loop->m_thread = std::thread([raw = loop.get()] { raw->run(); });
    return loop;
}

DecodeLoop::~DecodeLoop()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
    }
    m_ordered.notify_one();
    if (m_decoder)
        m_decoder->interrupt();
    if (m_thread.joinable())
        m_thread.join();
}

void DecodeLoop::submit(GenerateRequest request, std::unique_ptr<Sampler> sampler)
{
    add(Submission{std::move(request), std::move(sampler)});
}

void DecodeLoop::cancel(RequestId id)
{
    if (m_embedder) { // seen before the next embedding, not in its turn
        const std::lock_guard lock(m_mutex);
        m_embeddings.erase(id);
        return;
    }
    add(CancelRequest{id});
}

void DecodeLoop::embed(CallId call, EmbeddingRequest request)
{
    {
        const std::lock_guard lock(m_mutex);
        m_embeddings.insert(request.id);
    }
    add(Embedding{call, std::move(request)});
}

void DecodeLoop::add(Order order)
{
    const std::lock_guard lock(m_mutex);
    m_orders.push_back(std::move(order));
    m_ordered.notify_one();
}

void DecodeLoop::run()
{
    while (takeOrders()) {
        if (!m_scheduler)
            continue;
        m_scheduler->step();
        reportStats(m_scheduler->isIdle());
    }
}

// Waits only if there is nothing to compute. False at the end.
bool DecodeLoop::takeOrders()
{
    std::vector<Order> orders;
    {
        std::unique_lock lock(m_mutex);
        if (!m_scheduler || m_scheduler->isIdle())
            m_ordered.wait(lock, [this] { return m_ending || !m_orders.empty(); });
        if (m_ending)
            return false;
        orders.swap(m_orders);
    }
    for (Order &order : orders)
        carryOut(std::move(order));
    return true;
}

void DecodeLoop::carryOut(Order order)
{
    if (auto *submission = std::get_if<Submission>(&order)) {
        m_scheduler->submit(std::move(submission->request), std::move(submission->sampler));
    } else if (const auto *cancelled = std::get_if<CancelRequest>(&order)) {
        if (m_scheduler)
            m_scheduler->cancel(cancelled->id);
    } else if (const auto *embedding = std::get_if<Embedding>(&order)) {
        compute(*embedding);
    }
}

void DecodeLoop::compute(const Embedding &embedding)
{
    CallReply reply;
    reply.call = embedding.call;
    bool isWanted = false;
    {
        const std::lock_guard lock(m_mutex);
        isWanted = m_embeddings.erase(embedding.request.id) > 0;
    }
    if (!isWanted)
        reply.value = cluster::Error{cluster::ErrorCode::Cancelled, "the client has gone"};
    else if (auto vector = m_embedder->embed(embedding.request.tokens))
        reply.value = std::move(*vector);
    else
        reply.value = vector.error();
    m_outbox.add(std::move(reply));
}

void DecodeLoop::reportStats(bool isIdle)
{
    const Seconds now = monotonicNow();
    if (!isIdle && now - m_lastStats < statsInterval)
        return;
    m_lastStats = now;
    m_outbox.add(m_scheduler->takeStats());
}

} // namespace engine
