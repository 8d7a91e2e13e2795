#pragma once

#include "engine/runner/call_pool.h"
#include "engine/runner/decode_loop.h"
#include <set>

namespace engine {

/// What a loaded runner answers. What may take long is done by the threads of a pool: the thread of the
/// messages only passes it on. Threads: all calls on the I/O thread.
class RunnerService
{
public:
    RunnerService(const LanguageModel &model, DecodeLoop &loop, Outbox &outbox, std::int64_t seed,
                  CallPoolOptions pool = {});

    /// False if the front asks to end.
    [[nodiscard]] bool handle(FrontMessage message);
    [[nodiscard]] bool stop() { return m_pool.stop(); } ///< As CallPool::stop().

private:
    /// Requests whose grammar or words are still being read.
    class Preparing
    {
    public:
        void add(RequestId id);
        [[nodiscard]] bool remove(RequestId id); ///< False if it was not there: cancelled.

    private:
        std::mutex m_mutex;
        std::set<RequestId> m_ids;
    };

    void generate(GenerateRequest request);
    void prepare(GenerateRequest request);
    void answer(Call call);

    const LanguageModel &m_model;
    DecodeLoop &m_loop;
    Outbox &m_outbox;
    std::int64_t m_seed;
    Preparing m_preparing;
    CallPool m_pool; // last: its threads use the others
};

} // namespace engine
