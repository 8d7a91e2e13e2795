#include "engine/scheduler/scheduler.h"

#include <algorithm>

namespace engine {

namespace {
constexpr int worthHolding = 32; ///< Tokens saved that pay for waiting some steps.
constexpr int answerMargin = 16; ///< So that a newcomer is not thrown out again in the next steps.
} // namespace

void Scheduler::insertInOrder(Requests &requests, std::unique_ptr<ActiveRequest> request)
{
    const auto place = std::upper_bound(requests.begin(), requests.end(), request,
                                        [](const auto &a, const auto &b) { return a->isBefore(*b); });
    requests.insert(place, std::move(request));
}

std::int64_t Scheduler::freeCells() const
{
    return m_decoder.cellCount() - m_tree.cells() - m_privateCells;
}

// What running requests will take soon: the rest of their prompts and the next tokens of their answers.
std::int64_t Scheduler::promisedCells() const
{
    std::int64_t cells = 0;
    for (const auto &request : m_running)
        cells += request->owed()
            + std::clamp(request->request.sampling.maxTokens - request->outputCount, 0, answerMargin);
    return cells;
}

void Scheduler::admit()
{
    for (const auto &request : m_running)
        request->neededBy = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < m_waiting.size() && !m_freeSequences.empty();) {
        ActiveRequest &candidate = *m_waiting[i];
        if (isWorthHolding(candidate)) {
            ++i;
            continue;
        }
        if (!tryAdmit(candidate)) {
            if (!m_running.empty())
                return; // Nobody behind may overtake: a long prompt would wait for ever.
            m_listener.onFailure({candidate.request.id, "internal",
                                  "the key-value cache of " + std::to_string(m_decoder.cellCount())
                                      + " tokens is too small for this request"});
            m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        std::unique_ptr<ActiveRequest> admitted = std::move(m_waiting[i]);
        m_waiting.erase(m_waiting.begin() + static_cast<std::ptrdiff_t>(i));
        insertInOrder(m_running, std::move(admitted));
    }
}

// Somebody is computing a longer part of the same prompt than the tree has: it will be there for nothing
// soon.
bool Scheduler::isWorthHolding(const ActiveRequest &candidate)
{
    if (!m_options.prefixCaching || candidate.readsPromptLogits())
        return false;
    const std::span<const TokenId> wanted(candidate.tokens.data(), candidate.tokens.size() - 1);
    ActiveRequest *best = nullptr;
    int longest = 0;
    for (const auto &other : m_running) {
        if (other->owed() <= 1 || other->request.cacheSalt != candidate.request.cacheSalt)
            continue;
        const std::size_t limit = std::min(wanted.size(), other->tokens.size());
        const auto end = std::mismatch(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(limit),
                                       other->tokens.begin());
        const auto common = static_cast<int>(end.first - wanted.begin());
        if (common > longest && common > other->computed) {
            longest = common;
            best = other.get();
        }
    }
    if (best == nullptr || longest - m_tree.matchLength(candidate.request.cacheSalt, wanted) < worthHolding)
        return false;
    best->neededBy = std::min(best->neededBy, longest - best->computed);
    return true;
}

bool Scheduler::tryAdmit(ActiveRequest &request)
{
    request.sequence = m_freeSequences.back();
    m_freeSequences.pop_back();
    takePrefix(request);
    // One more cell for each that runs, so that the newcomer is not thrown out in the next step.
    const std::int64_t needed
        = request.owed() + promisedCells() + static_cast<std::int64_t>(m_running.size());
    if (needed <= availableCells()) {
        if (!request.admittedBefore && m_options.prefixCaching && !request.readsPromptLogits()) {
            request.cachedPromptTokens = request.computed;
            m_stats.prefixQueries += static_cast<std::int64_t>(request.tokens.size());
            m_stats.prefixHits += request.computed;
        }
        request.admittedBefore = true;
        return true;
    }
    vacate(request);
    return false;
}

void Scheduler::takePrefix(ActiveRequest &request)
{
    request.computed = 0;
    if (!m_options.prefixCaching)
        return;
    // The last token is always computed: its logits are wanted.
    std::span<const TokenId> known(request.tokens.data(), request.tokens.size() - 1);
    if (request.readsPromptLogits()) {
        known = {};
        request.promptTokens.clear();
    }
    request.node = m_tree.acquire(request.request.cacheSalt, known, request.sequence);
    request.computed = PrefixTree::end(request.node);
}

void Scheduler::publish(ActiveRequest &request)
{
    if (request.node == nullptr || request.privateCells() == 0)
        return;
    m_privateCells -= request.privateCells();
    request.node = m_tree.publish(request.node, request.tokens, request.computed, request.sequence).node;
    m_privateCells += request.privateCells();
}

// Gives back all that the request holds; what it computed stays in the tree as long as there is room.
void Scheduler::vacate(ActiveRequest &request)
{
    publish(request);
    m_privateCells -= request.privateCells();
    m_decoder.removeSequence(request.sequence, 0, -1);
    if (request.node != nullptr)
        m_tree.release(request.node);
    request.node = nullptr;
    request.computed = 0;
    m_freeSequences.push_back(request.sequence);
    request.sequence = -1;
}

void Scheduler::preemptYoungest()
{
    std::unique_ptr<ActiveRequest> victim = std::move(m_running.back());
    m_running.pop_back();
    vacate(*victim);
    ++m_stats.preemptions;
    ++victim->preemptions;
    insertInOrder(m_waiting, std::move(victim));
}

} // namespace engine
