#include "cluster/local/nodes/node_heartbeats.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodes/node_object.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cluster::local {

namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int leaseSeconds = 40;
constexpr milliseconds perNode{10}; // 100 renewals a second at most
constexpr seconds shortestInterval{10};
constexpr seconds longestInterval{25};
constexpr seconds retryInterval{2};
constexpr seconds shortestStatusInterval{300};

ResourcePath leasePath(const std::string &node)
{
    return apiGroup("coordination.k8s.io", "v1", "leases", "kube-node-lease", node);
}

Json leaseObject(const std::string &node, const std::string &uid, const std::string &version)
{
    Json metadata{
        {"name", node},
        {"namespace", "kube-node-lease"},
        {"ownerReferences", {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", uid}}}}};
    if (!version.empty())
        metadata["resourceVersion"] = version;
    return Json{{"apiVersion", "coordination.k8s.io/v1"},
                {"kind", "Lease"},
                {"metadata", std::move(metadata)},
                {"spec",
                 {{"holderIdentity", node},
                  {"leaseDurationSeconds", leaseSeconds},
                  {"renewTime", microTimestamp(unixTimeNow())}}}};
}

std::string versionOf(const Json &object)
{
    return object.value("metadata", Json::object()).value("resourceVersion", std::string());
}

} // namespace

NodeHeartbeats::NodeHeartbeats(KubeClient &client) : m_client(client), m_thread([this] { run(); }) {}

NodeHeartbeats::~NodeHeartbeats()
{
    stop();
}

void NodeHeartbeats::stop()
{
    m_cancel.request_stop();
    if (m_thread.joinable())
        m_thread.join();
}

void NodeHeartbeats::add(const std::string &node, const std::string &uid)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_pulses.find(node); found != m_pulses.end()) {
        m_due.erase({found->second.due, node});
        m_pulses.erase(found);
    }
    const auto now = Clock::now();
    m_pulses[node] = Pulse{uid, {}, now, now + statusInterval()};
    m_due.insert({now, node});
    m_changed.notify_all();
}

void NodeHeartbeats::remove(const std::string &node)
{
    std::unique_lock lock(m_mutex);
    if (const auto found = m_pulses.find(node); found != m_pulses.end()) {
        m_due.erase({found->second.due, node});
        m_pulses.erase(found);
    }
    m_changed.wait(lock, [&] { return m_inFlight != node; });
}

std::size_t NodeHeartbeats::size() const
{
    const std::lock_guard lock(m_mutex);
    return m_pulses.size();
}

NodeHeartbeats::Clock::duration NodeHeartbeats::interval() const
{
    return std::clamp<Clock::duration>(perNode * m_pulses.size(), shortestInterval, longestInterval);
}

NodeHeartbeats::Clock::duration NodeHeartbeats::statusInterval() const
{
    return std::max<Clock::duration>(shortestStatusInterval, seconds(1) * m_pulses.size());
}

void NodeHeartbeats::run()
{
    const CancelToken cancel = m_cancel.get_token();
    std::unique_lock lock(m_mutex);
    while (!cancel.stop_requested()) {
        if (m_due.empty()) {
            m_changed.wait(lock, cancel, [this] { return !m_due.empty(); });
            continue;
        }
        const auto [due, node] = *m_due.begin();
        if (due > Clock::now()) {
            m_changed.wait_until(lock, cancel, due,
                                 [&, first = due] { return m_due.empty() || m_due.begin()->first < first; });
            continue;
        }
        m_due.erase(m_due.begin());
        Pulse pulse = m_pulses.at(node);
        m_inFlight = node;
        lock.unlock();
        const bool isRenewed = renew(node, pulse);
        const bool wantsStatus = isRenewed && pulse.statusDue <= Clock::now();
        if (wantsStatus)
            reportStatus(node);
        lock.lock();
        m_inFlight.clear();
        m_changed.notify_all();
        const auto found = m_pulses.find(node);
        if (found == m_pulses.end() || found->second.uid != pulse.uid)
            continue; // removed, or made anew, meanwhile
        const auto now = Clock::now();
        if (found->second.due != due)
            continue; // added again
        pulse.due = now + (isRenewed ? interval() : Clock::duration(retryInterval));
        if (wantsStatus)
            pulse.statusDue = now + statusInterval();
        m_due.insert({pulse.due, node});
        found->second = std::move(pulse);
    }
}

bool NodeHeartbeats::renew(const std::string &node, Pulse &pulse)
{
    KubeWriteOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(seconds(10));
    options.retries = 0;
    if (pulse.leaseVersion.empty() && !readLease(node, pulse))
        return false;
    const Json lease = leaseObject(node, pulse.uid, pulse.leaseVersion);
    const Result<Json> written = pulse.leaseVersion.empty()
        ? m_client.create(leasePath(node), lease, options)
        : m_client.update(leasePath(node), lease, options);
    pulse.leaseVersion = written ? versionOf(*written) : std::string();
    return written.has_value();
}

/// False where the server does not answer; no version where there is no lease.
bool NodeHeartbeats::readLease(const std::string &node, Pulse &pulse)
{
    KubeCallOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(seconds(10));
    options.retries = 0;
    const Result<Json> lease = m_client.get(leasePath(node), options);
    if (lease)
        pulse.leaseVersion = versionOf(*lease);
    return lease || lease.error().code == ErrorCode::NotFound;
}

void NodeHeartbeats::reportStatus(const std::string &node)
{
    KubeWriteOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(seconds(10));
    options.retries = 0;
    const Json patch{
        {"status", {{"conditions", {{{"type", "Ready"}, {"lastHeartbeatTime", timestamp(unixTimeNow())}}}}}}};
    // The lease is what counts: the next one comes anyway.
    (void)m_client.patch(coreV1("nodes").named(node).sub("status"), PatchType::Strategic, patch, options);
}

} // namespace cluster::local
