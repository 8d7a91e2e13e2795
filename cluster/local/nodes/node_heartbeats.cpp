#include "cluster/local/nodes/node_heartbeats.h"

#include "cluster/kube/kube_client.h"
#include "cluster/local/nodes/node_object.h"
#include "cluster/local/nodes/parallel.h"

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
constexpr std::size_t largestBatch = 32;
constexpr std::size_t helpersWhenLate = 4;

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
    m_changed.wait(lock, [&] { return !m_inFlight.contains(node); });
}

void NodeHeartbeats::refute(const std::string &node)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_pulses.find(node);
    if (found == m_pulses.end())
        return;
    Pulse &pulse = found->second;
    m_due.erase({pulse.due, node});
    pulse.isGivenUp = true;
    pulse.due = pulse.statusDue = Clock::now();
    m_due.insert({pulse.due, node});
    m_changed.notify_all();
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
        const auto due = m_due.begin()->first;
        if (due > Clock::now()) {
            m_changed.wait_until(lock, cancel, due,
                                 [&] { return m_due.empty() || m_due.begin()->first < due; });
            continue;
        }
        std::vector<Beat> beats = takeDue();
        lock.unlock();
        send(beats);
        lock.lock();
        putBack(std::move(beats));
    }
}

/// Some that are due, the oldest first; the mutex is held.
std::vector<NodeHeartbeats::Beat> NodeHeartbeats::takeDue()
{
    std::vector<Beat> beats;
    const auto now = Clock::now();
    while (!m_due.empty() && m_due.begin()->first <= now && beats.size() < largestBatch) {
        const std::string node = m_due.begin()->second;
        m_due.erase(m_due.begin());
        m_inFlight.insert(node);
        beats.push_back({node, m_pulses.at(node)});
    }
    return beats;
}

void NodeHeartbeats::send(std::vector<Beat> &beats)
{
    const auto sendOne = [this, &beats](std::size_t i) -> Status {
        Beat &beat = beats[i];
        beat.isRenewed = renew(beat.node, beat.pulse);
        // Without its heartbeat time a status loses nothing: only what was given up is said again until
        // heard.
        if (beat.isRenewed && beat.pulse.statusDue <= Clock::now())
            beat.hasStatus = reportStatus(beat.node, beat.pulse.isGivenUp) || !beat.pulse.isGivenUp;
        return {};
    };
    // A full batch: one call after the other does not keep up with the server.
    (void)inParallel(beats.size(), beats.size() < largestBatch ? 1 : helpersWhenLate, sendOne);
}

/// The mutex is held.
void NodeHeartbeats::putBack(std::vector<Beat> beats)
{
    const auto now = Clock::now();
    for (Beat &beat : beats) {
        m_inFlight.erase(beat.node);
        const auto found = m_pulses.find(beat.node);
        const bool isSame = found != m_pulses.end() && found->second.uid == beat.pulse.uid
            && found->second.due == beat.pulse.due;
        if (!isSame)
            continue; // removed, or added again, meanwhile
        beat.pulse.due = now + (beat.isRenewed ? interval() : Clock::duration(retryInterval));
        if (beat.hasStatus) {
            beat.pulse.statusDue = now + statusInterval();
            beat.pulse.isGivenUp = false;
        }
        m_due.insert({beat.pulse.due, beat.node});
        found->second = std::move(beat.pulse);
    }
    m_changed.notify_all();
}

bool NodeHeartbeats::renew(const std::string &node, Pulse &pulse)
{
    KubeWriteOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(seconds(10));
    options.retries = 0;
    Result<Json> written = fail(ErrorCode::Unknown, {});
    if (pulse.leaseVersion.empty()) {
        written = m_client.create(leasePath(node), leaseObject(node, pulse.uid, {}), options);
        const bool isThere = !written && written.error().code == ErrorCode::AlreadyExists;
        if (isThere && !readLease(node, pulse))
            return false;
    }
    if (!written && !pulse.leaseVersion.empty())
        written = m_client.update(leasePath(node), leaseObject(node, pulse.uid, pulse.leaseVersion), options);
    pulse.leaseVersion = written ? versionOf(*written) : std::string();
    return written.has_value();
}

/// False where there is none (any more) or the server does not answer.
bool NodeHeartbeats::readLease(const std::string &node, Pulse &pulse)
{
    KubeCallOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(seconds(10));
    options.retries = 0;
    const Result<Json> lease = m_client.get(leasePath(node), options);
    if (lease)
        pulse.leaseVersion = versionOf(*lease);
    return lease.has_value();
}

bool NodeHeartbeats::reportStatus(const std::string &node, bool isWhole)
{
    KubeWriteOptions options;
    options.cancel = m_cancel.get_token();
    options.deadline = Deadline::after(seconds(10));
    options.retries = 0;
    const UnixTime now = unixTimeNow();
    const Json conditions = isWhole
        ? kubeletConditions(now)
        : Json::array({{{"type", "Ready"}, {"lastHeartbeatTime", timestamp(now)}}});
    const Json patch{{"status", {{"conditions", conditions}}}};
    return m_client.patch(coreV1("nodes").named(node).sub("status"), PatchType::Strategic, patch, options)
        .has_value();
}

} // namespace cluster::local
