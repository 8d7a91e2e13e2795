#pragma once

#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace models {

/// The sign by which a job that was started can be stopped, and by which its results are known.
/// Copies mean the same job. A default one means none.
class Job
{
public:
    Job() = default;

    /// Asks the work to stop, and drops everything it delivers from now on. Returns at once. GUI thread.
    void cancel();
    /// 1, 2, 3… within one JobRunner; 0 for none.
    [[nodiscard]] quint64 number() const { return m_state ? m_state->number : 0; }
    /// True until its result was handed over or it was cancelled.
    [[nodiscard]] bool isActive() const { return m_state && m_state->active; }

private:
    friend class JobRunner;
    friend class JobContext;

    // `active` is written on the GUI thread only; it is atomic because the worker reads it to spare a wasted
    // post.
    struct State
    {
        quint64 number = 0;
        std::atomic<bool> active = true;
        std::stop_source stop;
    };
    std::shared_ptr<State> m_state;
};

/// What the work gets, on its own thread.
class JobContext
{
public:
    /// Ask it between steps, or give it to calls that can be stopped.
    [[nodiscard]] std::stop_token stopToken() const { return m_job.m_state->stop.get_token(); }
    [[nodiscard]] bool stopRequested() const { return m_job.m_state->stop.stop_requested(); }
    /// Runs `notify` on the GUI thread, in order, if the receiver still lives and the job was not cancelled
    /// by then.
    void post(std::function<void()> notify) const;

private:
    friend class JobRunner;
    JobContext(Job job, QObject *courier, QPointer<QObject> receiver)
        : m_job(std::move(job)), m_courier(courier), m_receiver(std::move(receiver))
    {
    }

    Job m_job;
    QObject *m_courier; // Lives on the GUI thread and longer than every job.
    QPointer<QObject> m_receiver; // Only read on the GUI thread; here it is just carried.
};

/// The one place where threads meet the GUI: runs a blocking call on a pool and delivers its result on the
/// GUI thread. A result comes only if its receiver still lives and its job was not cancelled: the check and
/// the call happen both on the GUI thread, so neither can race with destruction. Made in app/ on the GUI
/// thread, handed down by reference.
class JobRunner
{
public:
    /// `threads`: how many calls may block at once; further ones wait in order.
    explicit JobRunner(int threads = 8);
    /// Asks every job to stop and waits for all. Nothing is delivered any more.
    ~JobRunner();
    JobRunner(const JobRunner &) = delete;
    JobRunner &operator=(const JobRunner &) = delete;

    /// `work`: T(const JobContext &), on a pool thread; must not touch QObjects of the GUI thread, must not
    /// throw. `deliver`: void(T) or, where work returns void, void(); on the GUI thread, at most once. Both
    /// must be copyable.
    template<typename Work, typename Deliver>
    Job run(QObject *receiver, Work work, Deliver deliver)
    {
        using T = std::invoke_result_t<Work, const JobContext &>;
        const JobContext context = newContext(receiver);
        start(context,
              [context, work = std::move(work), deliver = std::move(deliver), job = context.m_job]() mutable {
                  if constexpr (std::is_void_v<T>) {
                      work(context);
                      context.post([deliver = std::move(deliver), job]() mutable {
                          job.m_state->active = false;
                          deliver();
                      });
                  } else {
                      auto result = std::make_shared<T>(
                          work(context)); // std::function wants copies; T may be move-only
                      context.post([deliver = std::move(deliver), result = std::move(result), job]() mutable {
                          job.m_state->active = false;
                          deliver(std::move(*result));
                      });
                  }
              });
        return context.m_job;
    }

    /// Jobs waiting or at work, also cancelled ones that did not end yet.
    [[nodiscard]] int pendingCount() const;

private:
    struct Shared;

    [[nodiscard]] JobContext newContext(QObject *receiver);
    void start(const JobContext &context, std::function<void()> body);

    quint64 m_lastNumber = 0;
    std::shared_ptr<Shared> m_shared;
    QObject m_courier;
    QThreadPool m_pool;
};

/// Holds the newest of jobs of one kind: starting the next cancels the one before, so that an old answer
/// can't overwrite a new one. Cancels when it goes.
class LatestJob
{
public:
    LatestJob() = default;
    ~LatestJob() { m_job.cancel(); }
    LatestJob(const LatestJob &) = delete;
    LatestJob &operator=(const LatestJob &) = delete;

    void operator=(Job job)
    {
        m_job.cancel();
        m_job = std::move(job);
    }
    void cancel() { m_job.cancel(); }
    [[nodiscard]] bool isActive() const { return m_job.isActive(); }

private:
    Job m_job;
};

} // namespace models
