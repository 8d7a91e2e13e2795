#include "cluster/local/clusters/cluster_keeper.h"

#include <algorithm>
#include <utility>

namespace cluster::local {

namespace {

constexpr std::chrono::seconds retryPause{
    5}; ///< clients that come again and again must not start it as often
constexpr std::chrono::hours longTime{24};

} // namespace

ClusterKeeper::ClusterKeeper(Duties duties)
    : m_duties(std::move(duties)), m_thread([this](const CancelToken &cancel) { run(cancel); })
{
}

ClusterKeeper::~ClusterKeeper()
{
    end();
}

void ClusterKeeper::end()
{
    m_thread.request_stop();
    if (m_thread.joinable())
        m_thread.join();
}

void ClusterKeeper::askToWake()
{
    const std::scoped_lock lock(m_mutex);
    m_isWanted = true;
    m_asked.notify_all();
}

void ClusterKeeper::askForRay()
{
    const std::scoped_lock lock(m_mutex);
    m_wantsRay = true;
    m_asked.notify_all();
}

void ClusterKeeper::run(const CancelToken &cancel)
{
    using Clock = std::chrono::steady_clock;
    auto notBefore = Clock::now();
    auto nextCheck = Clock::now() + m_duties.idleCheck;
    while (!cancel.stop_requested()) {
        bool isWanted = false;
        bool wantsRay = false;
        {
            std::unique_lock lock(m_mutex);
            const auto now = Clock::now();
            auto until = m_duties.idleCheck.count() > 0 ? nextCheck : now + longTime;
            if (m_isWanted && notBefore > now)
                until = std::min(until, notBefore);
            m_asked.wait_until(lock, cancel, until,
                               [&] { return m_wantsRay || (m_isWanted && Clock::now() >= notBefore); });
            if (Clock::now() >= notBefore)
                isWanted = std::exchange(m_isWanted, false);
            wantsRay = std::exchange(m_wantsRay, false);
        }
        if (cancel.stop_requested())
            return;
        if (isWanted && !m_duties.wake(cancel))
            notBefore = Clock::now() + retryPause;
        if (wantsRay)
            m_duties.startRay(cancel);
        if (m_duties.idleCheck.count() > 0 && Clock::now() >= nextCheck) {
            m_duties.sleepIfIdle(cancel);
            nextCheck = Clock::now() + m_duties.idleCheck;
        }
    }
}

} // namespace cluster::local
