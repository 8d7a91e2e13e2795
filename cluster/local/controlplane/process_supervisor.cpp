#include "cluster/local/controlplane/process_supervisor.h"

#include "cluster/local/controlplane/supervised_process.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace cluster::local {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds nextWait(const RestartBackoff &policy, std::chrono::milliseconds last,
                                   std::chrono::milliseconds ran)
{
    if (last.count() == 0 || ran >= policy.goodRun)
        return policy.first;
    return std::min(last * 2, policy.longest);
}

/// The thread, and what it owns. Children are started on it alone: they die with the thread that made them.
class ProcessSupervisor::Loop
{
public:
    Loop(EventHandler onEvent, RestartBackoff policy)
        : m_onEvent(std::move(onEvent)), m_policy(policy), m_wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          m_thread([this] { run(); })
    {
    }

    ~Loop()
    {
        call([this] { m_isEnding = true; });
        m_thread.join();
        ::close(m_wake);
    }

    /// Runs `work` on the thread and waits for it.
    void call(std::function<void()> work) const
    {
        std::packaged_task<void()> task(std::move(work));
        auto done = task.get_future();
        {
            const std::lock_guard lock(m_mutex);
            m_tasks.push_back(std::move(task));
        }
        wake();
        done.get();
    }

    Status add(SupervisedProgram program)
    {
        auto process = std::make_unique<SupervisedProcess>(std::move(program), m_policy, m_onEvent);
        auto started = process->start(Clock::now());
        if (started)
            m_processes.push_back(std::move(process));
        return started;
    }

    /// Asks the last one to end; the loop goes on to the one before when it has.
    void beginStop(std::promise<void> done)
    {
        m_isStopping = true;
        m_stopWaiters.push_back(std::move(done));
        continueStop();
    }

    [[nodiscard]] const std::vector<std::unique_ptr<SupervisedProcess>> &processes() const
    {
        return m_processes;
    }

private:
    void wake() const
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(m_wake, &one, sizeof one);
    }

    void run()
    {
        while (!m_isEnding) {
            waitForSomething();
            runTasks();
            const auto now = Clock::now();
            for (const auto &process : m_processes)
                process->step(now);
            continueStop();
        }
    }

    void waitForSomething()
    {
        std::vector<pollfd> watched{{m_wake, POLLIN, 0}};
        auto next = Clock::time_point::max();
        for (const auto &process : m_processes) {
            process->addWatched(watched);
            next = std::min(next, process->nextStep());
        }
        int wait = -1;
        if (next != Clock::time_point::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
            wait = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 60000));
        }
        ::poll(watched.data(), watched.size(), wait);
    }

    void runTasks()
    {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(m_wake, &count, sizeof count);
        std::deque<std::packaged_task<void()>> tasks;
        {
            const std::lock_guard lock(m_mutex);
            tasks.swap(m_tasks);
        }
        for (auto &task : tasks)
            task();
    }

    void continueStop()
    {
        if (!m_isStopping)
            return;
        const auto now = Clock::now();
        while (!m_processes.empty()) {
            m_processes.back()->stop(now);
            if (!m_processes.back()->hasEnded())
                return;
            m_processes.pop_back();
        }
        m_isStopping = false;
        for (auto &waiter : m_stopWaiters)
            waiter.set_value();
        m_stopWaiters.clear();
    }

    EventHandler m_onEvent;
    RestartBackoff m_policy;
    int m_wake;
    mutable std::mutex m_mutex; ///< of m_tasks alone; all else belongs to the thread
    mutable std::deque<std::packaged_task<void()>> m_tasks;
    std::vector<std::unique_ptr<SupervisedProcess>> m_processes;
    std::vector<std::promise<void>> m_stopWaiters;
    bool m_isStopping = false;
    bool m_isEnding = false;
    std::thread m_thread; ///< last: it uses the others
};

ProcessSupervisor::ProcessSupervisor(EventHandler onEvent, RestartBackoff policy)
    : m_loop(std::make_unique<Loop>(std::move(onEvent), policy))
{
}

ProcessSupervisor::~ProcessSupervisor()
{
    stopAll();
}

Status ProcessSupervisor::add(SupervisedProgram program)
{
    Status added;
    m_loop->call([&] { added = m_loop->add(std::move(program)); });
    return added;
}

void ProcessSupervisor::stopAll()
{
    std::promise<void> done;
    auto stopped = done.get_future();
    m_loop->call([&] { m_loop->beginStop(std::move(done)); });
    stopped.get();
}

std::vector<ProcessState> ProcessSupervisor::states() const
{
    std::vector<ProcessState> states;
    m_loop->call([&] {
        for (const auto &process : m_loop->processes())
            states.push_back(process->state());
    });
    return states;
}

std::string ProcessSupervisor::lastWordsOf(const std::string &name) const
{
    std::string words;
    m_loop->call([&] {
        for (const auto &process : m_loop->processes()) {
            if (process->name() == name)
                words = lastWords(process->output());
        }
    });
    return words;
}

} // namespace cluster::local
