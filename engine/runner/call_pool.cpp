#include "engine/runner/call_pool.h"

#include <algorithm>
#include <list>
#include <pthread.h>
#include <utility>

namespace engine {

namespace {

constexpr std::chrono::milliseconds farewell{500}; ///< For work that runs when the pool is stopped.
constexpr std::size_t stackBytes = std::size_t{256}
    << 20; ///< llama.cpp's parsers recurse; only what is used is taken.

/// A detached thread. False if there is none to be had.
bool startThread(std::function<void()> work)
{
    auto *const owned = new std::function<void()>(std::move(work)); // given to the thread
    const auto enter = [](void *argument) -> void * {
        const std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()> *>(argument));
        (*own)();
        return nullptr;
    };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stackBytes);
    pthread_t thread{};
    const bool isStarted = pthread_create(&thread, &attributes, enter, owned) == 0;
    pthread_attr_destroy(&attributes);
    if (!isStarted)
        delete owned;
    return isStarted;
}

} // namespace

/// One thread. It leaves the list as the last thing it does with the state.
struct CallPool::Worker
{
    Clock::time_point since; ///< When its job began.
    Delivery givenUp; ///< Of its job.
    bool busy = false;
    bool lost = false; ///< Its job was given up; it goes when the job ends after all.
};

struct CallPool::State
{
    CallPoolOptions options;
    MakeTemplate makeTemplate;
    std::function<void()> ruined;

    std::mutex mutex; // guards all below
    std::condition_variable arrived; ///< A job, or the end: for the workers.
    std::condition_variable changed; ///< A worker took a job or left: for the watcher and stop().
    std::deque<Job> jobs;
    std::list<Worker> workers;
    bool ending = false;

    [[nodiscard]] auto lostCount() const { return std::ranges::count_if(workers, &Worker::lost); }
    [[nodiscard]] auto idleCount() const
    {
        return std::ranges::count_if(workers, [](const Worker &worker) { return !worker.busy; });
    }
};

CallPool::CallPool(CallPoolOptions options, MakeTemplate makeTemplate, std::function<void()> ruined)
    : m_state(std::make_shared<State>())
{
    m_state->options = options;
    m_state->makeTemplate = std::move(makeTemplate);
    m_state->ruined = std::move(ruined);
    m_watcher = std::thread([state = m_state] { watch(state); });
}

CallPool::~CallPool()
{
    m_watcher.join();
}

/// One more thread, if a job waits that no idle one will take.
void CallPool::startWorker(const std::shared_ptr<State> &state)
{
    const auto alive = static_cast<std::ptrdiff_t>(state->workers.size()) - state->lostCount();
    if (state->idleCount() >= static_cast<std::ptrdiff_t>(state->jobs.size())
        || alive >= state->options.mostThreads)
        return;
    Worker &worker = state->workers.emplace_back();
    if (!startThread([state, &worker] { serve(state, worker); }))
        state->workers.pop_back();
}

void CallPool::run(Work work, Delivery givenUp)
{
    State &state = *m_state;
    const std::lock_guard lock(state.mutex);
    state.jobs.push_back({std::move(work), std::move(givenUp)});
    startWorker(m_state);
    if (state.workers.empty()) { // not even one thread can be had
        std::exchange(state.jobs, {}).back().givenUp();
        return;
    }
    state.arrived.notify_one();
}

const CallPoolOptions &CallPool::options() const
{
    return m_state->options;
}

void CallPool::serve(const std::shared_ptr<State> &state, Worker &worker)
{
    auto chat = state->makeTemplate();
    std::unique_lock lock(state->mutex);
    while (!worker.lost) {
        state->arrived.wait(lock, [&] { return state->ending || !state->jobs.empty(); });
        if (state->ending)
            break;
        work(*state, worker, chat.get(), lock);
    }
    lock.unlock();
    chat.reset(); // before stop() may return
    lock.lock();
    std::erase_if(state->workers, [&](const Worker &other) { return &other == &worker; });
    state->changed.notify_all();
}

void CallPool::work(State &state, Worker &worker, const ChatTemplate *chat,
                    std::unique_lock<std::mutex> &lock)
{
    Job job = std::move(state.jobs.front());
    state.jobs.pop_front();
    worker.busy = true;
    worker.since = Clock::now();
    worker.givenUp = std::move(job.givenUp);
    state.changed.notify_all();
    lock.unlock();
    const Delivery delivery = job.work(chat);
    job = {};
    lock.lock();
    worker.busy = false;
    if (!worker.lost && !state.ending)
        delivery();
}

void CallPool::watch(const std::shared_ptr<State> &state)
{
    std::unique_lock lock(state->mutex);
    while (!state->ending) {
        const auto now = Clock::now();
        auto next = Clock::time_point::max();
        for (Worker &worker : state->workers) {
            if (!worker.busy || worker.lost)
                continue;
            if (now - worker.since < state->options.limit) {
                next = std::min(next, worker.since + state->options.limit);
                continue;
            }
            worker.lost = true;
            std::exchange(worker.givenUp, nullptr)();
            startWorker(state); // in its place: others may wait
        }
        if (state->lostCount() > state->options.mostGivenUp) {
            state->ruined();
            return;
        }
        if (next == Clock::time_point::max())
            state->changed.wait(lock);
        else
            state->changed.wait_until(lock, next);
    }
}

bool CallPool::stop()
{
    State &state = *m_state;
    std::unique_lock lock(state.mutex);
    state.ending = true;
    state.jobs.clear();
    state.arrived.notify_all();
    state.changed.notify_all();
    return state.changed.wait_for(lock, farewell, [&] { return state.workers.empty(); });
}

} // namespace engine
