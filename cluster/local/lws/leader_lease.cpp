#include "cluster/local/lws/leader_lease.h"

#include "cluster/kube/pause.h"
#include "cluster/local/lws/lws_spec.h"
#include "cluster/local/lws/utc_text.h"
#include "cluster/local/nodes/json_access.h"

namespace cluster::local {

using Json = nlohmann::json;
using json_access::at;
using json_access::text;

namespace {

ResourcePath leasePath(const LeaderLeaseOptions &options)
{
    return apiGroup("coordination.k8s.io", "v1", "leases", options.nameSpace, options.name);
}

KubeWriteOptions callOptions(const CancelToken &cancel, std::chrono::seconds limit)
{
    KubeWriteOptions options;
    options.cancel = cancel;
    options.deadline = Deadline::after(limit);
    options.retries = 0;
    return options;
}

} // namespace

LeaderLease::LeaderLease(KubeClient &client, LeaderLeaseOptions options, Handlers handlers)
    : m_client(client), m_options(std::move(options)), m_handlers(std::move(handlers)),
      m_thread([this](const std::stop_token &cancel) { run(cancel); })
{
}

LeaderLease::~LeaderLease()
{
    m_thread.request_stop();
    if (m_thread.joinable())
        m_thread.join();
    if (m_leads)
        release();
}

void LeaderLease::run(const CancelToken &cancel)
{
    Clock::time_point renewed{};
    while (!cancel.stop_requested()) {
        if (take(cancel)) {
            renewed = Clock::now();
            if (!m_leads) {
                m_leads = true;
                m_handlers.onLeading();
            }
        } else if (m_leads && !cancel.stop_requested() && Clock::now() - renewed > m_options.renewLimit) {
            m_leads = false;
            m_handlers.onLost();
            return;
        }
        if (!pauseFor(m_options.interval, cancel))
            return;
    }
}

bool LeaderLease::isFree(const Json &lease)
{
    const Json &spec = at(lease, "spec");
    if (spec != m_seen) {
        m_seen = spec;
        m_seenAt = Clock::now();
    }
    const std::string holder = text(spec, "holderIdentity");
    if (holder.empty() || holder == m_options.holder)
        return true;
    const std::chrono::seconds limit(integerOf(spec, "leaseDurationSeconds", m_options.duration.count()));
    return Clock::now() - m_seenAt > limit;
}

bool LeaderLease::take(const CancelToken &cancel)
{
    const ResourcePath path = leasePath(m_options);
    const KubeWriteOptions options = callOptions(cancel, m_options.renewLimit / 2);
    const auto found = m_client.get(path, options);
    if (!found && found.error().code != ErrorCode::NotFound)
        return false;
    const std::string now = utcMicros(std::chrono::system_clock::now());
    Json lease = found ? *found
                       : Json{{"apiVersion", "coordination.k8s.io/v1"},
                              {"kind", "Lease"},
                              {"metadata", {{"name", m_options.name}, {"namespace", m_options.nameSpace}}},
                              {"spec", Json::object()}};
    if (found && !isFree(lease))
        return false;
    Json &spec = lease["spec"];
    if (text(spec, "holderIdentity") != m_options.holder) {
        spec["leaseTransitions"] = integerOf(spec, "leaseTransitions") + (found ? 1 : 0);
        spec["acquireTime"] = now;
    }
    spec["holderIdentity"] = m_options.holder;
    spec["leaseDurationSeconds"] = m_options.duration.count();
    spec["renewTime"] = now;
    // Of two who want it at once one meets a conflict: the object's version is in what is written.
    const auto written
        = found ? m_client.update(path, lease, options) : m_client.create(path, lease, options);
    return written.has_value();
}

void LeaderLease::release()
{
    const KubeWriteOptions options = callOptions({}, std::chrono::seconds(2));
    (void)m_client.modify(
        leasePath(m_options),
        [this](Json &lease) {
            if (text(at(lease, "spec"), "holderIdentity") != m_options.holder)
                return false;
            lease["spec"]["holderIdentity"] = "";
            lease["spec"]["leaseDurationSeconds"] = 1;
            return true;
        },
        options);
}

} // namespace cluster::local
