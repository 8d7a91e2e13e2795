#include "engine/scheduler/scheduler.h"

#include "engine/scheduler/batch_plan.h"
#include <algorithm>

namespace engine {

namespace {
constexpr int maxRetries = 64; ///< Of a batch that found no room although the account said so.
constexpr int leastPrefill = 16; ///< Prompts get on even when the decoding rows alone fill the step's target.
} // namespace

Scheduler::Scheduler(Decoder &decoder, const Vocabulary &vocabulary, SchedulerOptions options, Clock clock,
                     Listener &listener)
    : m_decoder(decoder), m_vocabulary(vocabulary), m_options(options), m_clock(std::move(clock)),
      m_listener(listener), m_tree(decoder, options.maxNumSeqs),
      m_budget(options.maxNumBatchedTokens, options.stepTarget)
{
    if (!decoder.canShare())
        m_options.prefixCaching = false;
    for (int sequence = options.maxNumSeqs - 1; sequence >= 0; --sequence)
        m_freeSequences.push_back(sequence);
    m_stats.kvTotalTokens = decoder.cellCount();
}

void Scheduler::submit(GenerateRequest request, std::unique_ptr<Sampler> sampler)
{
    const auto isUnknown = [&](TokenId token) { return token < 0 || token >= m_vocabulary.size(); };
    const bool broken
        = request.prompt.empty() || std::any_of(request.prompt.begin(), request.prompt.end(), isUnknown);
    const auto limit = static_cast<std::size_t>(m_options.maxModelLen);
    if (broken || request.prompt.size() >= limit) {
        const std::string why = broken ? "the prompt is empty or has tokens outside of the vocabulary"
                                       : "the prompt has " + std::to_string(request.prompt.size())
                + " tokens, the model takes " + std::to_string(limit) + " together with the answer";
        m_listener.onFailure({request.id, "invalid_argument", why});
        return;
    }
    auto active = std::make_unique<ActiveRequest>(std::move(request), std::move(sampler), ++m_arrivals);
    active->times.queued = m_clock();
    insertInOrder(m_waiting, std::move(active));
}

void Scheduler::cancel(RequestId id)
{
    const auto isIt = [id](const auto &request) { return request->request.id == id; };
    std::erase_if(m_waiting, isIt);
    const auto found = std::find_if(m_running.begin(), m_running.end(), isIt);
    if (found == m_running.end())
        return;
    vacate(**found);
    m_running.erase(found);
}

bool Scheduler::step()
{
    admit();
    if (!planBatch())
        return false;
    const Seconds begin = m_clock();
    switch (decodeBatch()) {
    case DecodeStatus::Done:
        break;
    case DecodeStatus::Aborted:
        recoverFromAbort();
        return true;
    case DecodeStatus::CacheFull:
    case DecodeStatus::Failed:
        failBatch("the model could not compute the batch; see the log of the runner");
        return true;
    }
    m_stats.stepTokens.push_back(static_cast<int>(m_rows.size()));
    const std::vector<Chunk> chunks = m_chunks;
    for (const Chunk &chunk : chunks)
        finishChunk(chunk);
    m_budget.observe(static_cast<int>(m_rows.size()), m_clock() - begin);
    m_tree.advance(static_cast<int>(m_rows.size()));
    forgetUnused();
    return true;
}

DecodeStatus Scheduler::decodeBatch()
{
    DecodeStatus status = DecodeStatus::CacheFull;
    for (int attempt = 0; attempt < maxRetries; ++attempt) {
        if (m_rows.empty())
            break;
        status = m_decoder.decode(m_rows);
        if (status != DecodeStatus::CacheFull)
            break;
        // The pool is more broken up than the account knows (a sliding window's own cache): make room all the
        // same.
        if (m_tree.evictableCells() > 0)
            m_tree.evict(static_cast<std::int64_t>(m_rows.size()));
        else if (m_running.size() > 1)
            preemptYoungest();
        else
            break;
        if (!planBatch())
            break;
    }
    return status;
}

// Requests that a batch can't leave out must each get a cell.
int Scheduler::makeRoomForDecoding()
{
    while (true) {
        const auto rows
            = std::count_if(m_running.begin(), m_running.end(), [](const auto &r) { return r->owed() == 1; });
        const bool isStuck = rows == 0 && availableCells() == 0;
        if ((availableCells() >= rows && !isStuck) || m_running.size() <= 1)
            return static_cast<int>(rows);
        preemptYoungest();
    }
}

bool Scheduler::planBatch()
{
    m_rows.clear();
    m_chunks.clear();
    const int decodeRows = makeRoomForDecoding();
    for (const auto &request : m_running) {
        if (request->owed() == 1)
            addChunk(*request, 1);
    }
    addPrefill(decodeRows);
    const std::int64_t missing = static_cast<std::int64_t>(m_rows.size()) - freeCells();
    if (missing > 0)
        m_tree.evict(missing);
    return !m_rows.empty();
}

void Scheduler::addPrefill(int decodeRows)
{
    std::vector<PrefillDemand> demands;
    std::vector<ActiveRequest *> requests;
    const int outputs = m_decoder.maxOutputs() - static_cast<int>(m_running.size());
    for (const auto &request : m_running) {
        const int remaining = request->owed();
        if (remaining <= 1)
            continue;
        // Rows of prompt log-probabilities are outputs; all others need only one.
        const int limit = request->readsPromptLogits() ? std::max(1, outputs / 2) : remaining;
        demands.push_back({remaining, std::min(remaining, request->neededBy), limit});
        requests.push_back(request.get());
    }
    const int target = std::max(leastPrefill, m_budget.tokens() - decodeRows);
    const int mostRows
        = std::min(m_decoder.maxRows(), std::max(m_options.maxNumBatchedTokens, decodeRows + 1));
    const auto room
        = static_cast<int>(std::min<std::int64_t>(availableCells() - decodeRows, mostRows - decodeRows));
    const std::vector<int> shares = sharePrefill(demands, std::min(target, room));
    int promptOutputs = outputs;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const bool reads = requests[i]->readsPromptLogits();
        const int count = reads ? std::min(shares[i], promptOutputs) : shares[i];
        promptOutputs -= reads ? count : 0;
        addChunk(*requests[i], count);
    }
}

void Scheduler::addChunk(ActiveRequest &request, int count)
{
    if (count <= 0)
        return;
    m_chunks.push_back({&request, static_cast<int>(m_rows.size()), count});
    const bool readsAll = request.readsPromptLogits();
    for (int i = 0; i < count; ++i) {
        const int position = request.computed + i;
        const bool isLast = position + 1 == static_cast<int>(request.tokens.size());
        m_rows.push_back({request.tokens[static_cast<std::size_t>(position)], position, request.sequence,
                          readsAll || isLast});
    }
    if (request.times.scheduled == Seconds{})
        request.times.scheduled = m_clock();
}

// A cached token costs every row that is computed, and saves one computation if it is asked for. Where both
// are equal after n rows, keeping it for n rows is never worse than twice the best; what was found before is
// likelier to be again.
void Scheduler::forgetUnused()
{
    constexpr double freshShare = 0.2;
    constexpr double provenShare = 2.0;
    constexpr std::int64_t alwaysKept = 512; // tokens
    if (m_options.foreignCellCost.count() <= 0 || m_budget.perToken().count() <= 0)
        return;
    const double rows = m_budget.perToken() / m_options.foreignCellCost;
    m_tree.forget(static_cast<std::int64_t>(freshShare * rows), static_cast<std::int64_t>(provenShare * rows),
                  alwaysKept);
}

// Some leading rows may have been computed; what the requests count as computed is what stays.
void Scheduler::recoverFromAbort()
{
    for (const Chunk &chunk : m_chunks)
        m_decoder.removeSequence(chunk.request->sequence, chunk.request->computed, -1);
}

void Scheduler::failBatch(const std::string &message)
{
    if (m_chunks.empty() && !m_running.empty())
        m_chunks.push_back({m_running.back().get(), 0, 0});
    for (const Chunk &chunk : std::vector<Chunk>(m_chunks)) {
        m_decoder.removeSequence(chunk.request->sequence, chunk.request->computed, -1);
        fail(*chunk.request, "internal", message);
    }
    m_chunks.clear();
}

RunnerStats Scheduler::takeStats()
{
    m_stats.running = static_cast<int>(m_running.size());
    m_stats.waiting = static_cast<int>(m_waiting.size());
    m_stats.kvUsedTokens = m_tree.lockedCells() + m_privateCells;
    RunnerStats result = m_stats;
    m_stats.stepTokens.clear();
    return result;
}

} // namespace engine
