#pragma once

#include "cluster/base/cancellation.h"
#include "cluster/base/deadline.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cluster {
class KubeClient;
} // namespace cluster

namespace cluster::local {

/// Signs of life of all nodes, by one thread (with helpers while the API server is slow): a lease in
/// kube-node-lease renewed as a kubelet does, and now and then the time in the Ready condition.
///
/// A kubelet renews every 10 s. Thousands of nodes on one machine do it more rarely, down to every 25 s, so
/// that all of them together cost the API server at most some hundred small writes a second; a node counts as
/// lost after 40 (since Kubernetes 1.32: 50) seconds.
class NodeHeartbeats
{
public:
    explicit NodeHeartbeats(KubeClient &client);
    ~NodeHeartbeats(); ///< stop()
    NodeHeartbeats(const NodeHeartbeats &) = delete;
    NodeHeartbeats &operator=(const NodeHeartbeats &) = delete;

    /// \param uid  of the Node, the lease's owner
    void add(const std::string &node, const std::string &uid);
    /// No sign of life any more; returns when none is on its way. The lease stays.
    void remove(const std::string &node);
    /// The control plane has given the node up (its leases were late): says at once that it is well, as a
    /// kubelet does when it comes back. Nothing for a node that is not kept alive.
    void refute(const std::string &node);
    void stop();

    [[nodiscard]] std::size_t size() const;

private:
    using Clock = std::chrono::steady_clock;

    struct Pulse
    {
        std::string uid;
        std::string leaseVersion; ///< empty: not known
        Clock::time_point due;
        Clock::time_point statusDue;
        bool isGivenUp = false; ///< all that a kubelet says is to be said again
    };

    /// A renewal that is on its way.
    struct Beat
    {
        std::string node;
        Pulse pulse;
        bool isRenewed = false;
        bool hasStatus = false; ///< the status was reported too
    };

    void run();
    std::vector<Beat> takeDue();
    void send(std::vector<Beat> &beats);
    void putBack(std::vector<Beat> beats);
    bool renew(const std::string &node, Pulse &pulse);
    bool readLease(const std::string &node, Pulse &pulse);
    bool reportStatus(const std::string &node, bool isWhole);
    [[nodiscard]] Clock::duration interval() const;
    [[nodiscard]] Clock::duration statusInterval() const;

    KubeClient &m_client;
    CancelSource m_cancel;
    mutable std::mutex m_mutex; ///< guards all below
    std::condition_variable_any m_changed;
    std::map<std::string, Pulse> m_pulses;
    std::set<std::pair<Clock::time_point, std::string>> m_due;
    std::set<std::string> m_inFlight; ///< nodes that are being renewed
    std::jthread m_thread; ///< last: it uses all the others
};

} // namespace cluster::local
