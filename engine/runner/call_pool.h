#pragma once

#include "engine/runtime/chat_template.h"
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace engine {

struct CallPoolOptions
{
    int mostThreads = 4; ///< Started as they are needed; those that are given up do not count.
    int mostGivenUp = 4; ///< Calls that never end and still burn a core each; then ruined() is called.
    std::chrono::milliseconds limit{20'000}; ///< For one call.
};

/// Threads for what a request has to have done before it is decoded and what may take long: a text of
/// megabytes to tokenize, a grammar to compile, a template that loops. Neither the thread of the messages nor
/// other requests wait for it. What takes longer than the limit is given up: its caller hears so, and its
/// thread is left behind, since nothing can stop llama.cpp's parsers from outside. Threads: run() and stop()
/// on one; the rest on the pool's own, deliveries one at a time.
class CallPool
{
public:
    using Delivery = std::function<void()>; ///< Short: hands a result on.
    using Work = std::function<Delivery(const ChatTemplate *)>; ///< Long; with the thread's own template.
    using MakeTemplate = std::function<std::unique_ptr<ChatTemplate>()>;

    CallPool(CallPoolOptions options, MakeTemplate makeTemplate, std::function<void()> ruined);
    ~CallPool(); ///< Only after stop().
    CallPool(const CallPool &) = delete;
    CallPool &operator=(const CallPool &) = delete;

    /// `givenUp` is called instead of the work's delivery if that takes too long.
    void run(Work work, Delivery givenUp);

    /// Starts nothing more and waits a moment for what runs. False if some work does not end: then the
    /// process must end without taking apart what the work uses.
    [[nodiscard]] bool stop();

    [[nodiscard]] const CallPoolOptions &options() const; ///< As given.

private:
    using Clock = std::chrono::steady_clock;
    struct Job
    {
        Work work;
        Delivery givenUp;
    };
    struct Worker;
    struct State;

    static void serve(const std::shared_ptr<State> &state, Worker &worker);
    static void work(State &state, Worker &worker, const ChatTemplate *chat,
                     std::unique_lock<std::mutex> &lock);
    static void startWorker(const std::shared_ptr<State> &state);
    static void watch(const std::shared_ptr<State> &state);

    std::shared_ptr<State> m_state; // shared with the threads, of which some may be left behind
    std::thread m_watcher;
};

} // namespace engine
