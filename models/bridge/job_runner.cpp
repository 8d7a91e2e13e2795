#include "models/bridge/job_runner.h"

#include <QMutex>
#include <QMutexLocker>
#include <vector>

namespace models {

// The stop sources of jobs that did not end. Locked: added on the GUI thread, removed on the workers'.
struct JobRunner::Shared
{
    QMutex mutex;
    std::vector<std::pair<quint64, std::stop_source>> running;

    void add(quint64 number, const std::stop_source &stop)
    {
        const QMutexLocker lock(&mutex);
        running.emplace_back(number, stop);
    }
    void remove(quint64 number)
    {
        const QMutexLocker lock(&mutex);
        std::erase_if(running, [number](const auto &entry) { return entry.first == number; });
    }
};

void Job::cancel()
{
    if (!m_state)
        return;
    m_state->active = false;
    m_state->stop.request_stop();
}

void JobContext::post(std::function<void()> notify) const
{
    if (!m_job.m_state->active)
        return;
    QMetaObject::invokeMethod(
        m_courier,
        [job = m_job, receiver = m_receiver, notify = std::move(notify)] {
            if (receiver && job.m_state->active)
                notify();
        },
        Qt::QueuedConnection);
}

JobRunner::JobRunner(int threads) : m_shared(std::make_shared<Shared>())
{
    m_pool.setMaxThreadCount(threads);
}

JobRunner::~JobRunner()
{
    {
        const QMutexLocker lock(&m_shared->mutex);
        for (auto &[number, stop] : m_shared->running)
            stop.request_stop();
    }
    m_pool.waitForDone();
}

JobContext JobRunner::newContext(QObject *receiver)
{
    Job job;
    job.m_state = std::make_shared<Job::State>();
    job.m_state->number = ++m_lastNumber;
    return {job, &m_courier, QPointer<QObject>(receiver)};
}

void JobRunner::start(const JobContext &context, std::function<void()> body)
{
    const quint64 number = context.m_job.number();
    m_shared->add(number, context.m_job.m_state->stop);
    m_pool.start([shared = m_shared, number, body = std::move(body)]() mutable {
        body();
        shared->remove(number);
    });
}

int JobRunner::pendingCount() const
{
    const QMutexLocker lock(&m_shared->mutex);
    return int(m_shared->running.size());
}

} // namespace models
