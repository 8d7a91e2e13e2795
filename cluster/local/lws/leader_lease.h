#pragma once

#include "cluster/kube/kube_client.h"

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace cluster::local {

struct LeaderLeaseOptions
{
    std::string nameSpace;
    std::string name = "b8b2488c.x-k8s.io";
    std::string holder; ///< "POD_UNIQUE"
    std::chrono::seconds duration{15}; ///< others wait so long for a silent holder
    std::chrono::seconds renewLimit{10}; ///< without a renewal for so long it is lost
    std::chrono::seconds interval{2};
};

/// Of several replicas of a controller one leads: who holds a Lease object. Times of others are judged by
/// when this process saw them change, so clocks may differ.
class LeaderLease
{
public:
    struct Handlers
    {
        std::function<void()> onLeading; ///< once
        std::function<void()> onLost; ///< after that, once: another may lead now, end at once
    };

    /// Called on a thread of its own. `client` must outlive it.
    LeaderLease(KubeClient &client, LeaderLeaseOptions options, Handlers handlers);
    ~LeaderLease(); ///< Gives a lease that is held back, so that the next need not wait.
    LeaderLease(const LeaderLease &) = delete;
    LeaderLease &operator=(const LeaderLease &) = delete;

private:
    using Clock = std::chrono::steady_clock;

    void run(const CancelToken &cancel);
    [[nodiscard]] bool take(const CancelToken &cancel); ///< one try to get or to renew it
    [[nodiscard]] bool isFree(const nlohmann::json &lease);
    void release();

    KubeClient &m_client;
    const LeaderLeaseOptions m_options;
    const Handlers m_handlers;
    nlohmann::json m_seen; ///< the spec as it was seen last
    Clock::time_point m_seenAt;
    bool m_leads = false;
    std::jthread m_thread; ///< last: it uses the others
};

} // namespace cluster::local
