#pragma once

#include "engine/scheduler/active_request.h"
#include "engine/scheduler/step_budget.h"
#include <functional>

namespace engine {

struct SchedulerOptions
{
    int maxNumSeqs = 32; ///< Requests in the batch.
    int maxModelLen = 0; ///< Prompt and answer together, tokens; not more than the decoder has cells.
    int maxNumBatchedTokens = 256; ///< Tokens of one step.
    bool prefixCaching = true;
    Seconds stepTarget{0.25}; ///< What a step with prompts in it should last.
    /// What each cell of others costs each row: a CPU looks at the whole pool. 0: nothing, so that the cache
    /// may fill it.
    Seconds foreignCellCost{0};
};

/// Continuous batching: in each step every running request gets its next token, and what is left of the
/// step's tokens goes to prompts. Prefixes are shared, also with requests that are still running; a request
/// whose prefix another one is computing right now waits for it.
///
/// Order:   admission is first come, first served within a priority (lower first).
/// Room:    when the cache is full, what nobody uses goes first, then the youngest request starts over;
/// nobody fails. Threads: one, that of the decoder. submit() and cancel() between steps; a cancelled request
/// is in no later batch. Errors:  failures of single requests go to the listener; the scheduler itself goes
/// on.
class Scheduler
{
public:
    class Listener
    {
    public:
        virtual ~Listener() = default;
        virtual void onEvent(GenerationEvent event) = 0;
        virtual void onFailure(RequestFailure failure) = 0;
    };
    using Clock = std::function<Seconds()>; ///< Monotonic.

    Scheduler(Decoder &decoder, const Vocabulary &vocabulary, SchedulerOptions options, Clock clock,
              Listener &listener);

    void submit(GenerateRequest request, std::unique_ptr<Sampler> sampler);
    void cancel(RequestId id); ///< Unknown ids are ignored. No further event follows.

    /// One batch. False if there was nothing to do.
    bool step();

    [[nodiscard]] bool isIdle() const { return m_running.empty() && m_waiting.empty(); }
    /// Counters, gauges, and the steps since the last call.
    [[nodiscard]] RunnerStats takeStats();

private:
    using Requests = std::vector<std::unique_ptr<ActiveRequest>>;
    struct Chunk
    {
        ActiveRequest *request = nullptr;
        int firstRow = 0;
        int count = 0;
    };

    // Admission and room (scheduler_admission.cpp)
    void admit();
    [[nodiscard]] bool isWorthHolding(const ActiveRequest &candidate);
    [[nodiscard]] bool tryAdmit(ActiveRequest &request);
    void takePrefix(ActiveRequest &request);
    void publish(ActiveRequest &request);
    void vacate(ActiveRequest &request);
    void preemptYoungest();
    [[nodiscard]] std::int64_t freeCells() const;
    [[nodiscard]] std::int64_t availableCells() const { return freeCells() + m_tree.evictableCells(); }
    [[nodiscard]] std::int64_t promisedCells() const;
    static void insertInOrder(Requests &requests, std::unique_ptr<ActiveRequest> request);

    // Batches (scheduler.cpp)
    [[nodiscard]] int makeRoomForDecoding();
    bool planBatch();
    void addPrefill(int decodeRows);
    void addChunk(ActiveRequest &request, int count);
    [[nodiscard]] DecodeStatus decodeBatch();
    void forgetUnused();
    void recoverFromAbort();
    void failBatch(const std::string &message);

    // Answers (scheduler_output.cpp)
    void finishChunk(const Chunk &chunk);
    void readPromptLogits(ActiveRequest &request, const Chunk &chunk);
    void takeToken(ActiveRequest &request, int row);
    [[nodiscard]] std::optional<Finish> extendText(ActiveRequest &request, TokenId token, std::string &text);
    void send(ActiveRequest &request, GenerationEvent event);
    void fail(ActiveRequest &request, const char *code, std::string message);
    void removeRunning(const ActiveRequest &request);

    Decoder &m_decoder;
    const Vocabulary &m_vocabulary;
    SchedulerOptions m_options;
    Clock m_clock;
    Listener &m_listener;

    PrefixTree m_tree;
    Requests m_waiting; // both in order of isBefore()
    Requests m_running;
    std::vector<int> m_freeSequences;
    std::int64_t m_privateCells = 0; // of running requests, beyond what the tree holds
    std::uint64_t m_arrivals = 0;

    StepBudget m_budget;
    SamplerScratch m_scratch;
    std::vector<BatchRow> m_rows;
    std::vector<Chunk> m_chunks;
    RunnerStats m_stats;
};

} // namespace engine
