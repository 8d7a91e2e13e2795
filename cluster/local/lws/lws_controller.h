#pragma once

#include "cluster/kube/kube_client.h"
#include "cluster/local/lws/lws_counters.h"
#include "cluster/local/lws/lws_events.h"

#include <functional>
#include <memory>
#include <string>

namespace cluster::local {

/// The LeaderWorkerSet controller as it runs: watches the sets, their StatefulSets, pods and Services of all
/// namespaces, and passes over what changed on two threads, one for sets and one for pods, as the real
/// manager does. Not for DisaggregatedSets, which the local target does not play.
class LwsController
{
public:
    using Log = std::function<void(const std::string &)>; ///< called on several threads

    /// Starts at once. All must outlive it.
    LwsController(KubeClient &client, LwsEvents &events, LwsCounters &counters, Log log);
    ~LwsController(); ///< Waits for passes under way, which end soon.
    LwsController(const LwsController &) = delete;
    LwsController &operator=(const LwsController &) = delete;

private:
    struct Private;
    std::unique_ptr<Private> m_p;
};

} // namespace cluster::local
